/** A language model of a few tokens whose logits are drawn from its text, and an engine that runs it. */
import { setImmediate } from 'node:timers/promises';
import type { EngineRequest, Logprobs } from '../../src/engine/request.ts';
import { LogprobsTable } from '../../src/engine/sampling/logprobs.ts';
import { IDLE_STATS, type Engine } from '../../src/front/engine-process/engine-contract.ts';
import { EngineError } from '../../src/front/engine-process/errors.ts';

/** Logits after a text: any numbers, the same for the same text. */
export function drawnLogits(vocabSize: number, seed: number, text: Iterable<number>): Float32Array {
  let state = seed >>> 0;
  for (const tokenId of text) state = Math.imul(state ^ (tokenId + 1), 0x9e3779b1) >>> 0;
  return Float32Array.from({ length: vocabSize }, (_, id) => {
    let bits = Math.imul(state ^ (id * 0x85ebca6b), 0xc2b2ae35);
    bits = Math.imul(bits ^ (bits >>> 15), 0x27d4eb2f);
    return ((bits ^ (bits >>> 13)) >>> 0) / 2 ** 30 - 2;
  });
}

/** An engine's answer for the place after a text. */
export function toldAfter(logits: Float32Array, numTop: number): Logprobs {
  const table = new LogprobsTable(1, numTop);
  table.set(0, logits, 0);
  return table.toMessage();
}

type Request = Omit<EngineRequest, 'id'>;

export interface BeamEngineOptions {
  readonly vocabSize: number;
  readonly seed: number;
  /** Called before each row is computed; may throw. */
  readonly onRow?: (request: Request, numBefore: number) => void | Promise<void>;
}

/** Computes a token for each request, as an engine does whose every request has one more to come. */
export function beamEngine({ vocabSize, seed, onRow }: BeamEngineOptions) {
  const requests: Request[] = [];
  const counts = { running: 0, most: 0 };
  const generate: Engine['generate'] = async function* (request, signal) {
    signal.throwIfAborted();
    requests.push(request);
    counts.running++;
    counts.most = Math.max(counts.most, counts.running);
    try {
      await onRow?.(request, requests.length - 1);
      await setImmediate();
      signal.throwIfAborted();
      if (request.maxTokens !== request.outputTokenIds.length + 1) throw new EngineError('length');
      const text = [...request.promptTokenIds, ...request.outputTokenIds];
      const logits = drawnLogits(vocabSize, seed, text);
      const logprobs = [toldAfter(logits, request.logprobs ?? 0)];
      yield { tokenIds: [0], finishReason: 'length', logprobs, numCachedTokens: 0 };
    } finally {
      counts.running--;
    }
  };
  const engine = { generate, state: 'ready', stats: IDLE_STATS } as unknown as Engine;
  return { engine, requests, counts };
}
