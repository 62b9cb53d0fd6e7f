import type { ActivationDtype, Precision } from '../model/build/manifest.ts';

/** Which numbers a model is computed in. */
export interface PrecisionChoice {
  readonly precision: Precision;
  /** float16 for GPUs that have it, with all weights but those of fp32. */
  readonly activationDtype: ActivationDtype;
  /** Why `auto` picked it, or why it is not computed in as it could be; null when it is as asked for. */
  readonly reason: string | null;
}
