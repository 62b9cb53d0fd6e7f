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

/** Prompt that tells `quick` how fast others are. */
const PROBE_TOKENS = 32;
/** Time that `quick` may take in milliseconds after the first tokens, for which weights are read. */
const QUICK_MS = 1000;

/**
 * Prefills prompts of each power of two tokens up to a step's budget, and decodes with 1, 2, 4, ...
 * sequences; `quick` takes fewer of both, in about a second: of a large model shorter prompts. The
 * scheduler's cost model learns from them. The prompts are in no prefix that a request could have.
 * @param now clock in milliseconds
 */
export async function warmUp(
  engine: Pick<Engine, 'generate'>,
  mode: WarmUpMode,
  { maxNumSeqs, maxModelLen, maxNumBatchedTokens, vocabSize }: WarmUpShape,
  now = () => performance.now(),
): Promise<void> {
  if (mode === 'off') return;
  const longest = Math.min(maxNumBatchedTokens, maxModelLen - NUM_DECODED);
  if (longest < 1) return;
  const timed = async (work: () => Promise<unknown>) => {
    const start = now();
    await work();
    return now() - start;
  };
  const prefill = (numTokens: number) =>
    timed(() => run(engine, toRequest(numTokens, 1, vocabSize, 0)));
  const decode = (numSequences: number) => {
    const numTokens = Math.min(NUM_DECODED, maxModelLen - 1);
    const requests = Array.from({ length: numSequences }, (_, at) =>
      toRequest(1, numTokens, vocabSize, at),
    );
    return timed(() => Promise.all(requests.map((request) => run(engine, request))));
  };
  if (mode === 'full') {
    for (const numTokens of powersOfTwo(longest)) await prefill(numTokens);
    for (const numSequences of powersOfTwo(maxNumSeqs)) await decode(numSequences);
    return;
  }
  await decode(1);
  const end = now() + QUICK_MS;
  const probe = Math.min(PROBE_TOKENS, longest);
  const ofProbe = await prefill(probe);
  const most = Math.min(longest, Math.floor(((end - now()) / ofProbe) * probe));
  if (most > probe && (most === longest || most >= 2 * probe)) await prefill(most);
  // A step of a few sequences takes at most what the probe took.
  if (maxNumSeqs > 1 && now() + NUM_DECODED * ofProbe < end) await decode(maxNumSeqs);
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
