import { applyDry } from './dry.ts';
import type { Sequence } from '../sequence.ts';

/**
 * Applies a sequence's penalties (DRY, repetition, presence, frequency) to its logits, in place.
 *
 * Repetition as in Keskar et al., "CTRL" (2019), section 4.1, over prompt and output; presence and
 * frequency as the OpenAI API defines them, over the output.
 * @param logits [vocab]
 */
export function applyPenalties(logits: Float32Array, sequence: Sequence): void {
  const { repetitionPenalty, presencePenalty, frequencyPenalty, extra } = sequence.request.sampling;
  if (extra?.dry) applyDry(logits, sequence, extra.dry);
  if (repetitionPenalty !== 1) {
    for (const tokenId of sequence.countText().tokenIds) {
      const logit = logits[tokenId] ?? 0;
      logits[tokenId] = logit > 0 ? logit / repetitionPenalty : logit * repetitionPenalty;
    }
  }
  if (presencePenalty === 0 && frequencyPenalty === 0) return;
  const { tokenIds, counts } = sequence.countOutput();
  for (let place = 0; place < tokenIds.length; place++) {
    const tokenId = tokenIds[place] ?? 0;
    const penalty = (counts[place] ?? 0) * frequencyPenalty;
    logits[tokenId] = (logits[tokenId] ?? 0) - presencePenalty - penalty;
  }
}
