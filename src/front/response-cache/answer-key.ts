/** Cache key of an answer: a hash of all that it depends on. */
import { createHash, type Hash } from 'node:crypto';
import { isGreedy } from '../../engine/sampling/greedy.ts';
import type { FanOutRequest } from '../generation/fan-out.ts';
import type { GenerationRequest } from '../generation/generation.ts';

/** Owner of an answer, and the build that makes it. */
export interface AnswerScope {
  /** Id of the model as it runs: weights, tokenizer, formats, kernels. */
  readonly buildId: string;
  /** The client; its answers are no other client's. */
  readonly client: string;
}

/** Whether it generates: what a readout reads is no answer that is kept. */
export function isGenerated({ prompts }: FanOutRequest): boolean {
  return prompts.every(({ readout }) => readout === undefined);
}

/** Whether the same request always has the same answer. */
export function isDeterministic({ prompts }: FanOutRequest): boolean {
  return prompts.every(({ sampling, hasSeed = false }) => hasSeed || isGreedy(sampling));
}

/**
 * Fields of a request that change when it is answered and not what; all others are part of the
 * key, those included that nobody here knows of.
 */
type Unimportant =
  | 'priority'
  | 'serviceTier'
  | 'serviceClass'
  | 'timeoutMs'
  | 'hasSeed'
  | 'record'
  | 'isNextPart'
  | 'slot'
  // The prompt's ids say which they are.
  | 'images'
  | 'speech';

/** Equal for requests whose answers are equal, and for no others. */
export function answerKey({ prompts, numChoices }: FanOutRequest, scope: AnswerScope): string {
  const hash = createHash('sha256');
  // The choices of one greedy prompt are all alike, but each is sent.
  add(hash, [scope.buildId, scope.client, numChoices, prompts.length]);
  for (const prompt of prompts) add(hash, importantOf(prompt));
  return hash.digest('base64url');
}

function importantOf(request: GenerationRequest): Omit<GenerationRequest, Unimportant> {
  const { priority: _priority, serviceTier: _tier, serviceClass: _class, ...unclassed } = request;
  const { timeoutMs: _timeoutMs, record: _record, isNextPart: _isNextPart, ...others } = unclassed;
  const { hasSeed = false, images: _images, speech: _speech, slot: _slot, ...rest } = others;
  const { sampling } = rest;
  // A seed that nobody named is another one for each request, and one that nothing reads is none.
  const seed = hasSeed && !isGreedy(sampling) ? sampling.seed : 0n;
  return { ...rest, sampling: { ...sampling, seed } };
}

/** Any plain data. Each value says what it is and how long, so that no two run into each other. */
function add(hash: Hash, value: unknown): void {
  if (ArrayBuffer.isView(value)) {
    const { buffer, byteOffset, byteLength } = value;
    hash.update(`bytes ${value.constructor.name} ${byteLength};`);
    hash.update(new Uint8Array(buffer, byteOffset, byteLength));
  } else if (Array.isArray(value)) {
    hash.update(`list ${value.length};`);
    for (const item of value) add(hash, item);
  } else if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value).filter(([, field]) => field !== undefined);
    hash.update(`fields ${fields.length};`);
    for (const [name, field] of fields.sort(([a], [b]) => (a < b ? -1 : 1))) {
      add(hash, name);
      add(hash, field);
    }
  } else {
    const text = typeof value === 'number' && Object.is(value, -0) ? '0' : String(value);
    hash.update(`${typeof value} ${text.length};${text}`);
  }
}
