import type { SamplingParams } from '../request.ts';

/**
 * Below this a temperature is 0, as in vLLM. Logits are float32 of about 10 to 30: two that differ at
 * all differ by 1e-6 or more, and what kernels round differently is no less. A temperature further
 * down would magnify nothing else, and its inverse comes near what a number can hold: at 1e-320 it is
 * Infinity, and Infinity times no difference is not a number.
 */
const LEAST_TEMPERATURE = 1e-5;

/** Whether the likeliest token is always taken. */
export function isGreedy({ temperature }: Pick<SamplingParams, 'temperature'>): boolean {
  return !(temperature >= LEAST_TEMPERATURE);
}
