/** Runs a model before clients do: what is done for the first time is slow, and costs are unknown. */
import { type EngineRequest, WARM_UP_SALT } from '../../engine/request.ts';
import { GREEDY } from './greedy-sampling.ts';
import type { Engine } from '../engine-process/engine-contract.ts';
import { NEVER_ABORTED } from '../never-aborted.ts';

export type WarmUpMode = 'off' | 'quick' | 'full';

export interface WarmUpShape {
  readonly maxNumSeqs: number;
  readonly maxModelLen: number;
  readonly maxNumBatchedTokens: number;
  readonly vocabSize: number;
}

/** Tokens that each sequence decodes: the second step on is a decode step alone. */
const NUM_DECODED = 4;

/**
 * Prefills prompts of each power of two tokens up to a step's budget, and decodes with 1, 2, 4, ...
 * sequences; `quick` takes the smallest and the largest of both. The scheduler's cost model learns
 * from them. The prompts are in no prefix that a request could have.
 */
export async function warmUp(
  engine: Pick<Engine, 'generate'>,
  mode: WarmUpMode,
  { maxNumSeqs, maxModelLen, maxNumBatchedTokens, vocabSize }: WarmUpShape,
): Promise<void> {
  if (mode === 'off') return;
  const longest = Math.min(maxNumBatchedTokens, maxModelLen - NUM_DECODED);
  if (longest < 1) return;
  const pick = mode === 'full' ? (sizes: number[]) => sizes : ends;
  for (const numTokens of pick(powersOfTwo(longest))) {
    await run(engine, toRequest(numTokens, 1, vocabSize, 0));
  }
  for (const numSequences of pick(powersOfTwo(maxNumSeqs))) {
    await Promise.all(
      Array.from({ length: numSequences }, (_, at) =>
        run(engine, toRequest(1, Math.min(NUM_DECODED, maxModelLen - 1), vocabSize, at)),
      ),
    );
  }
}

async function run(
  engine: Pick<Engine, 'generate'>,
  request: Omit<EngineRequest, 'id'>,
): Promise<void> {
  for await (const _ of engine.generate(request, NEVER_ABORTED));
}

function toRequest(
  numTokens: number,
  maxTokens: number,
  vocabSize: number,
  first: number,
): Omit<EngineRequest, 'id'> {
  return {
    promptTokenIds: Int32Array.from({ length: numTokens }, (_, at) => (first + at) % vocabSize),
    outputTokenIds: new Int32Array(),
    maxTokens,
    minTokens: maxTokens,
    priority: 0,
    tier: 0,
    targetItlMs: null,
    arrivalMs: performance.now(),
    cacheSalt: WARM_UP_SALT,
    stopTokenIds: [],
    sampling: GREEDY,
    grammar: null,
    badWords: [],
    logprobs: null,
    promptLogprobs: null,
  };
}

/** 1, 2, 4, ... and `largest` itself. */
function powersOfTwo(largest: number): number[] {
  const powers = Array.from({ length: Math.ceil(Math.log2(largest)) }, (_, at) => 2 ** at);
  return [...powers, largest];
}

function ends(sizes: number[]): number[] {
  return [...new Set([...sizes.slice(0, 1), ...sizes.slice(-1)])];
}
