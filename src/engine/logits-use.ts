/** How much of a sequence's logits is read. */
import { isGreedy } from './sampling/greedy.ts';
import type { Sequence } from './sequence.ts';

/**
 * Whether a sequence's next token depends on more than its likeliest tokens' logits: where its request
 * changes or reports logits, or reads or scores its prompt.
 */
export function logitsAreUsedWhole(sequence: Sequence): boolean {
  const { request } = sequence;
  const { sampling } = request;
  return (
    request.grammar !== null ||
    request.speechRule !== undefined ||
    request.logprobs !== null ||
    request.readout !== undefined ||
    sequence.scoresPrompt ||
    sampling.allowedTokenIds !== null ||
    sampling.logitBias !== null ||
    request.badWords.length > 0 ||
    sequence.numOutputTokens < request.minTokens ||
    sampling.repetitionPenalty !== 1 ||
    sampling.presencePenalty !== 0 ||
    sampling.frequencyPenalty !== 0 ||
    sampling.extra !== undefined
  );
}

/** Whether a sequence's next token is the likeliest one, and nothing else of its logits is read. */
export function takesLikeliest(sequence: Sequence): boolean {
  return isGreedy(sequence.request.sampling) && !logitsAreUsedWhole(sequence);
}
