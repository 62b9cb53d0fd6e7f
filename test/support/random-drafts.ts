import type { Draft, DraftSource } from '../../src/engine/speculation/draft-source.ts';
import { philox4x32 } from '../../src/engine/sampling/philox.ts';
import type { Sequence } from '../../src/engine/sequence.ts';
import { FAKE_VOCAB_SIZE, fakeNextToken } from './fake-decoder.ts';

/** Drafts of what the fake model says: right to the end, wrong from some token on, or none. */
export class RandomDrafts implements DraftSource {
  readonly isFree: boolean;
  readonly #seed: number;

  constructor(seed: number, isFree: boolean) {
    this.#seed = seed;
    this.isFree = isFree;
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
      text.push((fakeNextToken(text) + (index < numRight ? 0 : 1)) % FAKE_VOCAB_SIZE);
    }
    const tokenIds = Int32Array.from(text.slice(sequence.numTokens));
    return { tokenIds, kinds: Array.from(tokenIds, () => 0) };
  }

  release(): void {}
}
