import { join } from 'node:path';
import { z } from 'zod';
import { readJsonFile } from './tokenizer-files.ts';

const generationConfig = z.looseObject({});

type IsOn = (value: unknown) => boolean;

const isSome: IsOn = (value) =>
  value !== null && value !== undefined && !(Array.isArray(value) && value.length === 0);
const isAbove0: IsOn = (value) => typeof value === 'number' && value > 0;
const isAbove1: IsOn = (value) => typeof value === 'number' && value > 1;
const isBelow1: IsOn = (value) => typeof value === 'number' && value < 1;

/** Fields by which Transformers would write other texts, and when they are on. vLLM reads none of them. */
const RULES: readonly (readonly [string, IsOn])[] = [
  ['min_new_tokens', isAbove0],
  ['no_repeat_ngram_size', isAbove0],
  ['num_beams', isAbove1],
  ['typical_p', isBelow1],
  ['epsilon_cutoff', isAbove0],
  ['eta_cutoff', isAbove0],
  ['guidance_scale', isAbove1],
  ['penalty_alpha', isAbove0],
  ['sequence_bias', isSome],
  ['begin_suppress_tokens', isSome],
  ['forced_bos_token_id', isSome],
  ['forced_eos_token_id', isSome],
  ['exponential_decay_length_penalty', isSome],
];

/**
 * Warnings about what a model's generation_config.json asks for, and requests do not get.
 * @throws TokenizerError naming the file if it is damaged
 */
export async function ignoredRules(folder: string): Promise<readonly string[]> {
  const config = await readJsonFile(join(folder, 'generation_config.json'), generationConfig);
  const names = RULES.filter(([name, isOn]) => isOn(config?.[name])).map(([name]) => name);
  if (names.length === 0) return [];
  return [`generation_config.json also has ${names.join(', ')}: not used, as in vLLM`];
}
