import type { ActivationDtype, Precision } from '../../model/manifest.ts';
import type { StoredPrecision } from '../../model/native/stored-precision.ts';

/** The number formats that a model is computed in. */
export interface PrecisionChoice {
  readonly precision: Precision;
  /** float16 for GPUs that have it, with all weights but those of fp32. */
  readonly activationDtype: ActivationDtype;
  /**
   * Why `auto` picked it, or why it computes in another format than the weights'; null if it is
   * what was asked for.
   */
  readonly reason: string | null;
  /** The checkpoint's own integers, where this precision keeps them. */
  readonly stored?: StoredPrecision | null;
}
