import { GREEDY } from '../../src/front/generation/greedy-sampling.ts';
import type { EngineRequest, SamplingParams } from '../../src/engine/request.ts';

export { GREEDY };

/** Parameters of a request whose logits are read: a greedy one's may be left out. */
export const READS_LOGITS: Partial<SamplingParams> = { temperature: 1 };

/** A greedy request for `maxTokens` tokens, with whatever is given changed. */
export function engineRequest(
  overrides: Partial<Omit<EngineRequest, 'sampling'>> & { sampling?: Partial<SamplingParams> } = {},
): EngineRequest {
  const { sampling, ...rest } = overrides;
  return {
    id: 1,
    promptTokenIds: Int32Array.of(1, 2, 3),
    outputTokenIds: new Int32Array(),
    maxTokens: 8,
    stopTokenIds: [],
    minTokens: 0,
    priority: 0,
    tier: 0,
    targetItlMs: null,
    arrivalMs: 0,
    cacheSalt: '',
    grammar: null,
    badWords: [],
    logprobs: null,
    promptLogprobs: null,
    ...rest,
    sampling: { ...GREEDY, ...sampling },
  };
}

/** Greedy text to its end, as a request to the front has it that asks for nothing else. */
export const PLAIN_ANSWER = {
  minTokens: 0,
  stop: [],
  includeStopStrInOutput: false,
  stopTokenIds: [],
  ignoreEos: false,
  skipSpecialTokens: true,
  sampling: GREEDY,
  badWords: [],
  logprobs: null,
  promptLogprobs: null,
};
