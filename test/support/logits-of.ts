import type { Candidates } from '../../src/engine/sampling/candidates.ts';
import type { Sequence } from '../../src/engine/sequence.ts';
import { segmentOf, type StepResult } from '../../src/engine/step.ts';

/** A step that gave these logits for a sequence's next token. */
export function logitsOf(
  sequence: Sequence,
  logits: Float32Array,
  candidates?: Candidates,
): StepResult {
  // A prompt that is scored goes token by token.
  const numTokens = sequence.scoresPrompt ? 1 : sequence.numUncomputedTokens;
  const segment = segmentOf(sequence, numTokens);
  const result = { segment, logits: [logits], ...(candidates ? { candidates } : {}) };
  return { logits: [result], failures: [], timedRuns: [] };
}
