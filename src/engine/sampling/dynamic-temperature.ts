import type { TemperatureRange } from '../request.ts';
import { entropyOf } from './entropy.ts';
import { LEAST_TEMPERATURE } from './greedy.ts';

/**
 * A temperature that grows with the entropy of the tokens that are kept, from `center` - range to
 * `center` + range. As llama.cpp's `dynatemp_range` and `dynatemp_exponent`.
 * @param logits [vocab] @param max the highest @param least the lowest of those that are kept
 */
export function dynamicTemperature(
  logits: Float32Array,
  max: number,
  least: number,
  center: number,
  { range, exponent }: TemperatureRange,
): number {
  const { count, nats } = entropyOf(logits, max, 1, least);
  if (count <= 1) return center;
  const low = Math.max(0, center - range);
  const share = Math.max(0, nats / Math.log(count)) ** exponent;
  return Math.max(LEAST_TEMPERATURE, low + (center + range - low) * share);
}
