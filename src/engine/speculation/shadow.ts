import { Sequence } from '../sequence.ts';

/** A copy of a sequence for drafts to go on with. @param request of the sequence, or a part of it */
export function shadowOf(sequence: Sequence, request = sequence.request): Sequence {
  return new Sequence({
    ...request,
    outputTokenIds: sequence.tokenIds(sequence.numPromptTokens),
    logprobs: null,
    promptLogprobs: null,
  });
}
