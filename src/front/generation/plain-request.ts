import type { EngineRequest } from '../../engine/request.ts';
import { GREEDY } from './greedy-sampling.ts';

/** A greedy request of a command's own for so many tokens, with whatever is given changed. */
export function plainRequest(
  promptTokenIds: Int32Array,
  maxTokens: number,
  changes: Partial<Omit<EngineRequest, 'id'>> = {},
): Omit<EngineRequest, 'id'> {
  return {
    promptTokenIds,
    outputTokenIds: new Int32Array(),
    maxTokens,
    stopTokenIds: [],
    minTokens: 0,
    priority: 0,
    tier: 0,
    targetItlMs: null,
    arrivalMs: performance.now(),
    cacheSalt: '',
    sampling: GREEDY,
    grammar: null,
    badWords: [],
    logprobs: null,
    promptLogprobs: null,
    ...changes,
  };
}
