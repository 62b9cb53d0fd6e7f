import { Tokenizer } from '@huggingface/tokenizers';
import { anyOf, type SecretSpelling, secretWord } from './secret-spelling.ts';

/** Part of the library that is used; its own types don't resolve under `nodenext`. */
export interface HfTokenizer {
  /** Vocabulary and merges. */
  model: object;
  encode(text: string, options: { add_special_tokens: boolean }): { ids: (number | undefined)[] };
  decode(ids: number[], options: { clean_up_tokenization_spaces: boolean }): string;
  token_to_id(token: string): number | undefined;
  id_to_token(id: number): string | undefined;
  get_vocab(): Map<string, number>;
}

/** The parts of tokenizer.json that matter here. */
export interface RespellableFile {
  readonly model: { readonly unk_token?: unknown };
  readonly added_tokens: readonly {
    readonly id: number;
    readonly content: string;
    readonly special: boolean;
  }[];
}

/** Stands for no token. */
const NO_ID = -1;

/**
 * Encodes texts in which special tokens are spelled in secret words; their own text comes to the
 * tokens that it would come to if they were not special.
 */
export class RespelledTokenizer {
  readonly #tokenizer: HfTokenizer;
  readonly #spelling: SecretSpelling;
  /** Where it stands, a word is cut. */
  readonly #cut = secretWord();
  /** By text; without the unknown token, which any text may come to. */
  readonly #specialIds: ReadonlyMap<string, number>;
  readonly #ownTexts: RegExp | null;

  /** @param original the tokenizer of the same file, whose vocabulary is shared */
  constructor(
    file: RespellableFile,
    config: Readonly<Record<string, unknown>>,
    original: HfTokenizer,
    spelling: SecretSpelling,
  ) {
    const respelled = file.added_tokens.map((token) => ({
      ...token,
      content: spelling.words.get(token.content) ?? token.content,
    }));
    const cut = { id: NO_ID, content: this.#cut, special: true };
    const added_tokens = [...respelled, cut];
    // The vocabulary is most of a tokenizer's memory, and of the time to make one.
    const model = { type: 'BPE', vocab: {}, merges: [] };
    this.#tokenizer = new Tokenizer({ ...file, model, added_tokens }, config);
    this.#tokenizer.model = original.model;
    this.#spelling = spelling;
    this.#specialIds = new Map(
      file.added_tokens
        .filter(({ content }) => spelling.words.has(content) && content !== file.model.unk_token)
        .map(({ content, id }) => [content, id]),
    );
    this.#ownTexts = anyOf([...this.#specialIds.keys()]);
  }

  /** The token ids of a text that brings its own special tokens. */
  encode(text: string): Int32Array {
    if (text === '') return new Int32Array();
    const tokenIds = idsOf(this.#tokenizer, text, false);
    if (this.#ownTexts === null || !this.#hasStray(tokenIds, text)) return tokenIds;
    // A special token's text may be a word that the vocabulary has as a whole.
    const cutOne = (found: string) => `${found[0]}${this.#cut}${found.slice(1)}`;
    const parted = text.replace(this.#ownTexts, cutOne);
    return idsOf(this.#tokenizer, parted, false).filter((id) => id !== NO_ID);
  }

  /** Whether there are special tokens in addition to those that were spelled in words. */
  #hasStray(tokenIds: Int32Array, text: string): boolean {
    const special = new Set(this.#specialIds.values());
    const numFound = tokenIds.reduce((count, id) => count + (special.has(id) ? 1 : 0), 0);
    const spelled = this.#spelling.shownIn(text).filter((shown) => this.#specialIds.has(shown));
    return numFound > spelled.length;
  }
}

/** A vocabulary without an unknown token yields undefined for what it lacks. */
export function idsOf(tokenizer: HfTokenizer, text: string, addSpecialTokens: boolean): Int32Array {
  const { ids } = tokenizer.encode(text, { add_special_tokens: addSpecialTokens });
  return Int32Array.from(ids.filter((id) => id !== undefined));
}
