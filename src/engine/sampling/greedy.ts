import type { SamplingParams } from '../request.ts';

/**
 * Below this a temperature is 0, as in vLLM. Logits are float32 of about 10 to 30: two that
 * differ do so by 1e-6 or more, and kernels' rounding errors are as large. A lower temperature
 * would only magnify those errors. Its inverse also comes near the largest number: at 1e-320 it is
 * Infinity, and Infinity times 0 is not a number.
 */
export const LEAST_TEMPERATURE = 1e-5;

/** Whether the likeliest token is always taken. */
export function isGreedy({ temperature }: Pick<SamplingParams, 'temperature'>): boolean {
  return !(temperature >= LEAST_TEMPERATURE);
}
