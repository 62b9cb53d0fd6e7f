/** Prompts for models that fill in what is missing between two texts. */
import { type InfillFormat, infillFormatOf } from './infill-formats.ts';
import { SecretSpelling } from './secret-spelling.ts';
import type { RespelledTokenizer } from './respelled-tokenizer.ts';
import type { TextTokenizer } from './tokenizer.ts';

/** A place to fill in; a plain value that crosses threads. */
export interface InfillText {
  readonly prefix: string;
  readonly suffix: string;
  /** The beginning of the middle. */
  readonly begun: string;
  /** From elsewhere, the least important first. */
  readonly snippets: readonly { readonly name: string; readonly text: string }[];
}

/** As llama-server calls them. */
const REPOSITORY = 'myproject';
const FILE = 'filename';
/** Before each snippet, where no token begins one: as llama-server has it. */
const SNIPPET = '\n\n--- snippet ---\n\n';

/** Special tokens come from the format alone: within texts their spelling is text like any other. */
export class InfillEncoder {
  /** The middle is over where the model begins another text. */
  readonly stopTokenIds: readonly number[];
  readonly #format: InfillFormat;
  readonly #start: readonly number[];
  readonly #spelling: SecretSpelling;
  readonly #tokenizer: RespelledTokenizer;
  readonly #vocabulary: TextTokenizer['vocabulary'];
  readonly #maxTokenCharacters: number;

  private constructor(format: InfillFormat, tokenizer: TextTokenizer) {
    const { addedTexts, bosTokenId } = tokenizer;
    this.#format = format;
    this.stopTokenIds = [...format.tokens].flatMap((token) => tokenizer.tokenToId(token) ?? []);
    const [first] = tokenizer.encode('a', { addSpecialTokens: true });
    this.#start = bosTokenId !== null && first === bosTokenId ? [bosTokenId] : [];
    this.#spelling = new SecretSpelling([
      ...new Set([
        ...tokenizer.specialTexts,
        ...addedTexts.filter((text) => format.tokens.has(text)),
      ]),
    ]);
    this.#tokenizer = tokenizer.respelled(this.#spelling);
    this.#vocabulary = tokenizer.vocabulary;
    this.#maxTokenCharacters = tokenizer.maxTokenCharacters;
  }

  /** @returns null for a model whose tokenizer has no tokens for it */
  static of(tokenizer: TextTokenizer): InfillEncoder | null {
    const { vocabulary } = tokenizer;
    const texts = tokenizer.addedTexts.filter((text) =>
      vocabulary.has(tokenizer.tokenToId(text) ?? Infinity),
    );
    const format = infillFormatOf(new Set(texts));
    return format && new InfillEncoder(format, tokenizer);
  }

  /**
   * @param maxTokens snippets are left out, the first ones first, where they would come to more
   * @throws MissingTokenError
   */
  encode({ prefix, suffix, begun, snippets }: InfillText, maxTokens: number): Int32Array {
    const { before, between, after, file, repository } = this.#format;
    const [first, second] = this.#format.isSuffixFirst ? [suffix, prefix] : [prefix, suffix];
    const hide = (token: string) => this.#spelling.hide(token);
    const place = `${hide(before)}${first}${hide(between)}${second}${hide(after)}${begun}`;
    if (snippets.length === 0) return this.#joined([this.#tokensOf(place)]);
    const own = this.#tokensOf(file === null ? place : `${hide(file)}${FILE}\n${place}`);
    const head = repository === null ? [] : this.#tokensOf(`${hide(repository)}${REPOSITORY}\n`);
    let room = maxTokens - this.#start.length - head.length - own.length;
    const kept: Int32Array[] = [];
    for (const { name, text } of snippets.toReversed()) {
      // It is not tokenized to be left out.
      if (text.length > room * this.#maxTokenCharacters) break;
      const tokenIds = this.#tokensOf(
        file === null ? `${SNIPPET}${text}` : `${hide(file)}${name}\n${text}`,
      );
      room -= tokenIds.length;
      if (room < 0) break;
      kept.unshift(tokenIds);
    }
    return this.#joined([head, ...kept, own]);
  }

  #tokensOf(text: string): Int32Array {
    return this.#tokenizer.encode(text);
  }

  #joined(parts: readonly (Int32Array | readonly number[])[]): Int32Array {
    const tokenIds = [this.#start, ...parts].flatMap((part) => [...part]);
    return this.#vocabulary.require(Int32Array.from(tokenIds));
  }
}
