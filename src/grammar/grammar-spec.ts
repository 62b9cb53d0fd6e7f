/** Grammar of a generated text, as plain values that cross threads and processes. */

import { WellFormedError } from '../well-formed-error.ts';

/** A grammar can't be used; the message is for the client. */
export class GrammarError extends WellFormedError {
  override readonly name = 'GrammarError';
}

export interface GrammarSpec {
  /**
   * In xgrammar's notation; the whole text is what `root` describes. A first line may say what is
   * counted beside it: see `counted-text.ts`.
   */
  readonly ebnf: string;
  /** The request's field it came from, for errors. */
  readonly field: string;
  /**
   * Its owner, and whether it was slow to compile: grammars of one owner may delay each other, but
   * others' as little as possible. Empty if left out.
   */
  readonly owner?: string;
}

/** The tokens of a model, as far as grammars need to know them. */
export interface GrammarVocabulary {
  /**
   * Index = token id. Each byte of a token's text is a character, mapped as GPT-2 does; empty for
   * tokens that no grammar may use, such as special ones.
   */
  readonly tokens: readonly string[];
  /** Length of the model's logits, at least the number of tokens. */
  readonly vocabSize: number;
  /** Allowed where the grammar may end, and only there. */
  readonly eosTokenIds: readonly number[];
}
