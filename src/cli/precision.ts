import type { DecoderConfig } from '../model/config.ts';
import type { Precision } from '../model/manifest.ts';
import { countParameters } from '../model/parameter-count.ts';
import { hasFastInt8 } from '../ort/cpu-features.ts';
import type { ChosenDevice } from './device.ts';
import { UsageError } from './errors.ts';
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

/**
 * What `--precision` means for a model on a device, the CPU if null.
 * @throws UsageError for a precision that the device has no operators for
 */
export function resolvePrecision(
  option: Options['precision'],
  chosen: Pick<ChosenDevice, 'device' | 'supportsFp16'> | null,
  config: DecoderConfig,
  fastInt8 = hasFastInt8(),
): PrecisionChoice {
  const isCpu = chosen === null || chosen.device.name === 'cpu';
  if (option === 'int8' && !isCpu) {
    throw new UsageError(
      `--precision int8 multiplies as only CPUs do; ${chosen.device.name} takes fp32, fp16 and int4`,
    );
  }
  if (option !== 'auto') return { precision: option, reason: null };
  if (!isCpu) {
    return { precision: 'fp32', reason: `the default on ${chosen.device.name}` };
  }
  if (countParameters(config) < SMALL_MODEL_PARAMETERS) {
    return { precision: 'fp32', reason: 'picked for a small model: fast enough, and exact' };
  }
  if (!fastInt8) return { precision: 'fp32', reason: 'picked: this CPU has no fast int8' };
  return { precision: 'int8', reason: 'picked for speed on this CPU' };
}
