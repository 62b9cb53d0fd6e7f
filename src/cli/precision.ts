import type { DecoderConfig } from '../model/config.ts';
import type { Precision } from '../model/manifest.ts';
import { countParameters } from '../model/parameter-count.ts';
import { hasFastInt8 } from '../ort/cpu-features.ts';
import type { Options } from './options.ts';

export interface PrecisionChoice {
  readonly precision: Precision;
  /** Why `auto` picked it; null when it was asked for. */
  readonly reason: string | null;
}

/**
 * Models smaller than this run in fp32: their steps take a few milliseconds in any precision, and
 * only fp32 computes a lost KV cache again to the same tokens.
 */
const SMALL_MODEL_PARAMETERS = 32e6;

/** What `--precision` means for a model on a device. */
export function resolvePrecision(
  option: Options['precision'],
  device: string,
  config: DecoderConfig,
  fastInt8 = hasFastInt8(),
): PrecisionChoice {
  if (option !== 'auto') return { precision: option, reason: null };
  if (device !== 'cpu' && device !== 'auto') {
    return { precision: 'fp32', reason: `the default on ${device}` };
  }
  if (countParameters(config) < SMALL_MODEL_PARAMETERS) {
    return { precision: 'fp32', reason: 'picked for a small model: fast enough, and exact' };
  }
  if (!fastInt8) return { precision: 'fp32', reason: 'picked: this CPU has no fast int8' };
  return { precision: 'int8', reason: 'picked for speed on this CPU' };
}
