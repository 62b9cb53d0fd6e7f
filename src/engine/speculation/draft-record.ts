import { AcceptanceRate } from './acceptance-rate.ts';
import type { Draft } from './draft-source.ts';
import type { Sequence } from '../sequence.ts';

/** About the last ten tokens of a sequence count. */
const DECAY = 0.9;

/** How well drafts have done for one sequence. */
export class DraftRecord {
  readonly #prior: (kind: number) => AcceptanceRate;
  readonly #rates = new Map<number, AcceptanceRate>();
  #draft: Draft | null = null;
  /** Index that the draft's first token would have in the sequence. */
  #start = 0;

  /** @param prior the same of all sequences together, which is kept up to date from here */
  constructor(prior: (kind: number) => AcceptanceRate) {
    this.#prior = prior;
  }

  /** The share of a kind's tokens that is expected to come true. */
  readonly rate = (kind: number): number => this.#rateOf(kind).value;

  remember(sequence: Sequence, draft: Draft): void {
    this.#draft = draft;
    this.#start = sequence.numTokens;
  }

  /** The kind of the last draft's token `index`. */
  kindAt(index: number): number {
    return this.#draft?.kinds[index] ?? 0;
  }

  /** Compares the last draft, whether it was verified or not, with what came. */
  score(sequence: Sequence): void {
    if (this.#draft === null) return;
    const { kinds, tokenIds } = this.#draft;
    this.#draft = null;
    const end = Math.min(this.#start + tokenIds.length, sequence.numTokens);
    for (const [index, came] of sequence.tokenIds(this.#start, end).entries()) {
      const kind = kinds[index] ?? 0;
      const accepted = came === tokenIds[index];
      this.#rateOf(kind).add(accepted);
      this.#prior(kind).add(accepted);
      if (!accepted) return;
    }
  }

  #rateOf(kind: number): AcceptanceRate {
    const known = this.#rates.get(kind);
    if (known) return known;
    const prior = this.#prior(kind);
    const rate = new AcceptanceRate(() => prior.value, DECAY);
    this.#rates.set(kind, rate);
    return rate;
  }
}
