import type { SamplingParams } from '../../engine/request.ts';

/** For requests of the server's own. */
export const GREEDY: SamplingParams = {
  temperature: 0,
  topK: 0,
  topP: 1,
  minP: 0,
  repetitionPenalty: 1,
  presencePenalty: 0,
  frequencyPenalty: 0,
  seed: 0n,
  logitBias: null,
  allowedTokenIds: null,
};
