import type { Draft, DraftSource } from '../../src/engine/speculation/draft-source.ts';
import { philox4x32 } from '../../src/engine/sampling/philox.ts';
import type { Sequence } from '../../src/engine/sequence.ts';
import { FAKE_VOCAB_SIZE, fakeNextToken } from './fake-decoder.ts';

/** Token that a model says after a text. */
type NextToken = (text: readonly number[], sequence: Sequence) => number;

/** Drafts of what a model says: right to the end, wrong from some token on, or none. */
export class RandomDrafts implements DraftSource {
  readonly isFree: boolean;
  readonly #seed: number;
  readonly #next: NextToken;
  readonly #vocabSize: number;

  /** @param next of the fake model if left out */
  constructor(
    seed: number,
    isFree: boolean,
    next: NextToken = fakeNextToken,
    vocabSize = FAKE_VOCAB_SIZE,
  ) {
    this.#seed = seed;
    this.isFree = isFree;
    this.#next = next;
    this.#vocabSize = vocabSize;
  }

  costMs(): number {
    return 0;
  }

  priorRate(): number {
    return 0.5;
  }

  draft(sequence: Sequence, numTokens: number): Draft {
    const counter = [sequence.id, sequence.numTokens, 0, 0] as const;
    const [first, second] = philox4x32(counter, [this.#seed, 0]);
    const length = first % 8 === 0 ? 0 : numTokens;
    const numRight = second % (numTokens + 1);
    const text = [...sequence.tokenIds()];
    for (let index = 0; index < length; index++) {
      const next = this.#next(text, sequence);
      text.push((next + (index < numRight ? 0 : 1)) % this.#vocabSize);
    }
    const tokenIds = Int32Array.from(text.slice(sequence.numTokens));
    return { tokenIds, kinds: Array.from(tokenIds, () => 0) };
  }

  release(): void {}
}
