import { drawLength, type LengthDistribution } from './lengths.ts';
import type { Random } from './random.ts';

export interface ChatMessage {
  readonly role: string;
  readonly content: string;
}

export type Prompt =
  | { readonly text: string }
  | { readonly tokenIds: readonly number[] }
  | { readonly messages: readonly ChatMessage[] };

/** One request to send. */
export interface WorkItem {
  readonly prompt: Prompt;
  /** Used where the server does not say how many it counted; null when not even that is known. */
  readonly promptTokens: number | null;
  readonly maxTokens: number;
}

export interface SyntheticWorkload {
  readonly input: LengthDistribution;
  readonly output: LengthDistribution;
  /** Send random ids below this number; null sends words. */
  readonly tokenIdLimit: number | null;
  /** Prompt and answer together are cut to this many tokens; null is no limit. */
  readonly maxModelLen: number | null;
}

/** Lower ids are special tokens in most vocabularies. */
const FIRST_TOKEN_ID = 3;

/** Words that common vocabularies hold whole, so that a word is about a token. */
const WORDS = (
  'the of and to in is you that it he was for on are as with his they at be this have from or one ' +
  'had by word but not what all were we when your can said there use an each which she do how their ' +
  'if will up other about out many then them these so some her would make like him into time has ' +
  'look two more write go see number no way could people my than first water been call who oil its ' +
  'now find long down day did get come made may part over new sound take only little work know place'
).split(' ');

/** Draws `count` requests: no two prompts are the same, so that a prefix cache does not help. */
export function syntheticItems(
  { input, output, tokenIdLimit, maxModelLen }: SyntheticWorkload,
  count: number,
  random: Random,
): WorkItem[] {
  return Array.from({ length: count }, () => {
    const room = maxModelLen ?? Infinity;
    const promptTokens = Math.max(1, Math.min(drawLength(input, random), room - 1));
    const prompt =
      tokenIdLimit === null
        ? { text: randomWords(promptTokens, random) }
        : { tokenIds: randomTokenIds(promptTokens, tokenIdLimit, random) };
    const maxTokens = Math.max(1, Math.min(drawLength(output, random), room - promptTokens));
    return { prompt, promptTokens, maxTokens };
  });
}

function randomWords(count: number, random: Random): string {
  const draw = () => WORDS[random.integer(0, WORDS.length - 1)];
  return Array.from({ length: count }, draw).join(' ');
}

function randomTokenIds(count: number, limit: number, random: Random): number[] {
  const first = Math.min(FIRST_TOKEN_ID, limit - 1);
  return Array.from({ length: count }, () => random.integer(first, limit - 1));
}

/** Takes `count` items of a dataset, in an order of their own, going round when there are fewer. */
export function sampleItems(
  dataset: readonly WorkItem[],
  count: number,
  random: Random,
): WorkItem[] {
  const items: WorkItem[] = [];
  while (items.length < count) items.push(...shuffled(dataset, random));
  return items.slice(0, count);
}

function shuffled<T>(values: readonly T[], random: Random): T[] {
  return values
    .map((value) => ({ value, key: random.uniform() }))
    .sort((a, b) => a.key - b.key)
    .map(({ value }) => value);
}
