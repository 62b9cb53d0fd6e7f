import { ModelError } from '../../model-error.ts';
import type { GgufMetadata } from '../metadata.ts';

/** A sampling value, by llama.cpp's name and that of generation_config.json. */
interface SamplingKey {
  readonly key: string;
  readonly name: string;
  /** Values that turn it off are the same number here. */
  readonly read: (value: number) => number;
  readonly isValid: (value: number) => boolean;
  readonly range: string;
}

const atLeast0 = (value: number) => Math.max(0, value);

const KEYS: readonly SamplingKey[] = [
  // llama.cpp's negative temperatures are greedy, too.
  { key: 'temp', name: 'temperature', read: atLeast0, isValid: () => true, range: 'any number' },
  { key: 'top_k', name: 'top_k', read: atLeast0, isValid: Number.isInteger, range: 'an integer' },
  {
    key: 'top_p',
    name: 'top_p',
    read: (value) => Math.min(1, value),
    isValid: (value) => value > 0,
    range: 'above 0',
  },
  {
    key: 'min_p',
    name: 'min_p',
    read: atLeast0,
    isValid: (value) => value <= 1,
    range: 'at most 1',
  },
  {
    key: 'penalty_repeat',
    name: 'repetition_penalty',
    read: (value) => value,
    isValid: (value) => value > 0,
    range: 'above 0',
  },
];

/** Digits that a float32 has in any case. */
const DIGITS = 7;

/**
 * Sampling values that a file recommends (`general.sampling.*`), as generation_config.json has them.
 * @throws {ModelError} if one is outside of its range
 */
export function ggufSamplingDefaults(metadata: GgufMetadata, path: string): Record<string, number> {
  const values: Record<string, number> = {};
  for (const { key, name, read, isValid, range } of KEYS) {
    const stored = metadata.number(`general.sampling.${key}`);
    if (stored === undefined) continue;
    // Written as float32: 0.7 comes as 0.699999988.
    const value = Number(stored.toPrecision(DIGITS));
    if (!Number.isFinite(value) || !isValid(value)) {
      throw new ModelError(
        `${path}: metadata "general.sampling.${key}" is ${stored}, expected ${range}`,
      );
    }
    values[name] = read(value);
  }
  return values;
}
