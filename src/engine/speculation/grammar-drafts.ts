import type { Draft, DraftSource } from './draft-source.ts';
import type { GrammarMatchers } from '../constraints/grammar-matchers.ts';
import type { NgramDrafts } from './ngram-drafts.ts';
import type { Sequence } from '../sequence.ts';

/**
 * The tokens that the grammar forces, and their last token, which the model may write as part of a
 * longer one.
 */
const FORCED = -1;
const LAST_FORCED = -2;
const FORCED_RATE = 0.95;
const LAST_FORCED_RATE = 0.85;

/**
 * Drafts for constrained sequences: first what the grammar forces, then what other texts suggest.
 * A forced text is certain, but not how the model splits it into tokens.
 */
export class GrammarDrafts implements DraftSource {
  readonly isFree = true;
  readonly #grammars: GrammarMatchers;
  readonly #others: NgramDrafts | null;

  /** @param others continue where the grammar leaves a choice; released by their owner */
  constructor(grammars: GrammarMatchers, others: NgramDrafts | null) {
    this.#grammars = grammars;
    this.#others = others;
  }

  costMs(): number {
    return 0;
  }

  priorRate(kind: number): number {
    if (kind === FORCED) return FORCED_RATE;
    if (kind === LAST_FORCED) return LAST_FORCED_RATE;
    return this.#others?.priorRate(kind) ?? 0;
  }

  draft(sequence: Sequence, numTokens: number, rateOf: (kind: number) => number): Draft {
    const forced = this.#grammars.forced(sequence);
    const last = forced.length - 1;
    const tokenIds = forced.subarray(0, numTokens);
    const kinds = Array.from(tokenIds, (_, at) => (at === last ? LAST_FORCED : FORCED));
    const draft = { tokenIds, kinds };
    return this.#others?.draft(sequence, numTokens, rateOf, draft) ?? draft;
  }

  announce(sequence: Sequence, draftTokenIds: Int32Array): void {
    this.#grammars.draft(sequence, draftTokenIds);
  }

  release(): void {}
}
