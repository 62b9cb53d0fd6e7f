import { draw } from '../../engine/cpu/kv-calibration.ts';
import { uniform } from '../../engine/sampling/philox.ts';
import { LockstepDecoder } from '../../eval/lockstep-decoder.ts';
import { runJobs, type TokenJob } from '../../eval/token-batch.ts';
import type { BuiltModel } from '../../model/manifest.ts';

/** Texts that are written side by side. */
const AT_ONCE = 16;

export interface OwnTexts {
  readonly numTexts: number;
  /** Tokens of each. */
  readonly length: number;
  readonly seed: number;
  /** First token of half of the texts, if any. */
  readonly bosTokenId: number | null;
  readonly threads: number;
}

/**
 * Texts that a model samples itself, at temperature 1: half of them from its first token, as those that it
 * was trained on, half from a random one. They are like what it will write later, in every language that
 * it knows, and need neither a tokenizer nor a data set.
 */
export function writeOwnTexts(
  model: BuiltModel,
  { numTexts, length, seed, bosTokenId, threads }: OwnTexts,
  onProgress: (done: number, total: number) => void,
): Int32Array[] {
  const { vocabSize } = model.manifest;
  const decoder = new LockstepDecoder(model, { numSlots: AT_ONCE, capacity: length, threads });
  const texts = Array.from({ length: numTexts }, () => new Int32Array(length));
  let done = 0;
  const jobs = texts.map((text, index): TokenJob => {
    // Each text has random numbers of its own, whichever texts are written next to it.
    const key = BigInt(seed) * 0x1_0000_0000n + BigInt(index);
    const first = Math.floor(uniform(key, 0) * vocabSize);
    text[0] = index % 2 === 0 && bosTokenId !== null ? bosTokenId : first;
    return {
      firstToken: text[0],
      next(position, logits) {
        onProgress(++done, numTexts * (length - 1));
        const token = draw(logits, uniform(key, position));
        text[position] = token;
        return position === length - 1 ? null : token;
      },
    };
  });
  try {
    runJobs(decoder, AT_ONCE, jobs, () => {});
    return texts;
  } finally {
    decoder.release();
  }
}

/**
 * Stretches of texts that somebody gives, as many tokens as are wanted in all: which ones the seed picks.
 * @param texts as token ids, of at least two tokens each
 */
export function pickTexts(
  texts: readonly Int32Array[],
  { length, numTokens, seed }: { length: number; numTokens: number; seed: number },
): Int32Array[] {
  const stretches = texts.flatMap((text) => {
    const count = Math.ceil(text.length / length);
    return Array.from({ length: count }, (_, i) => text.slice(i * length, (i + 1) * length));
  });
  const shuffled = stretches
    .filter((stretch) => stretch.length > 1)
    .map((stretch, index) => ({ stretch, order: uniform(BigInt(seed), index) }))
    .sort((a, b) => a.order - b.order);
  const picked: Int32Array[] = [];
  let left = numTokens;
  for (const { stretch } of shuffled) {
    if (left <= 0) break;
    picked.push(stretch);
    left -= stretch.length;
  }
  return picked;
}
