import type { Decoder } from '../../../src/engine/cpu/cpu-decoder.ts';
import type { Sequence } from '../../../src/engine/sequence.ts';

/**
 * Makes a model with random weights write given texts: it computes what it always does, and then the
 * right token gets the highest logit.
 * @param texts what each request is answered with, by its id, the end included
 */
export function giveTexts(decoder: Decoder, texts: ReadonlyMap<number, Int32Array>): void {
  const favour = (sequence: Sequence, numAhead: number, logits: Float32Array) => {
    const tokenId = texts.get(sequence.id)?.[sequence.numOutputTokens + numAhead];
    if (tokenId !== undefined) logits[tokenId] = 1e6;
  };
  const execute = decoder.execute.bind(decoder);
  decoder.execute = (plan) => {
    const result = execute(plan);
    for (const { sequence, logits } of result.rows) favour(sequence, 0, logits);
    for (const { sequence, logits } of result.verified ?? []) {
      for (const [index, behind] of logits.entries()) favour(sequence, 1 + index, behind);
    }
    return result;
  };
}
