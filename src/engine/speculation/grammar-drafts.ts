import type { Draft, DraftSource } from './draft-source.ts';
import type { GrammarMatchers } from '../constraints/grammar-matchers.ts';
import type { NgramDrafts } from './ngram-drafts.ts';
import type { Sequence } from '../sequence.ts';

/** What the grammar forces, and the last token of it, which the model may write as one with more. */
const FORCED = -1;
const LAST_FORCED = -2;
const FORCED_RATE = 0.95;
const LAST_FORCED_RATE = 0.85;

/**
 * Drafts for constrained sequences: what the grammar leaves no choice about, and then what other texts
 * say. A forced text is certain, but not the tokens that the model parts it into.
 */
export class GrammarDrafts implements DraftSource {
  readonly isFree = true;
  readonly #grammars: GrammarMatchers;
  readonly #others: NgramDrafts | null;

  /** @param others go on where the grammar leaves a choice; released by whom they belong to */
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
