/** Text to token ids and back, over a Hugging Face tokenizer.json. */
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { z } from 'zod';
import { TokenPieces } from './token-pieces.ts';
import {
  readEosTokenIds,
  readJsonFile,
  readTokenizerConfig,
  TokenizerError,
} from './tokenizer-files.ts';

const tokenizerFile = z.looseObject({
  model: z.looseObject({}),
  decoder: z.looseObject({ type: z.string() }),
  // The library reads these without asking whether they are there.
  added_tokens: z
    .array(z.looseObject({ id: z.int(), content: z.string(), special: z.boolean().default(false) }))
    .default([]),
  normalizer: z
    .unknown()
    .optional()
    .transform((value) => value ?? null),
  pre_tokenizer: z
    .unknown()
    .optional()
    .transform((value) => value ?? null),
  post_processor: z
    .unknown()
    .optional()
    .transform((value) => value ?? null),
});

/** What is used of the library, whose own types don't resolve under `nodenext`. */
interface HfTokenizer {
  encode(text: string, options: { add_special_tokens: boolean }): { ids: (number | undefined)[] };
  decode(ids: number[], options: { clean_up_tokenization_spaces: boolean }): string;
  token_to_id(token: string): number | undefined;
  id_to_token(id: number): string | undefined;
  get_vocab(): Map<string, number>;
}

export interface TokenizerFiles {
  /** The content of tokenizer.json. */
  readonly tokenizer: unknown;
  /** The content of tokenizer_config.json. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly bosToken?: string | undefined;
  readonly eosToken?: string | undefined;
  readonly eosTokenIds?: readonly number[];
}

export class TextTokenizer {
  /** Number of token ids, added tokens included; the model's logits may have more rows. */
  readonly vocabSize: number;
  readonly bosTokenId: number | null;
  /** Ids that end a text. Empty if the model folder names none. */
  readonly eosTokenIds: readonly number[];
  readonly pieces: TokenPieces;
  readonly #tokenizer: HfTokenizer;
  readonly #specialIds: ReadonlySet<number>;

  /** @throws TokenizerError if the tokenizer is damaged or of an unsupported kind. */
  constructor(files: TokenizerFiles) {
    const parsed = tokenizerFile.safeParse(files.tokenizer);
    if (!parsed.success) throw new TokenizerError(z.prettifyError(parsed.error));
    const file = parsed.data;
    try {
      this.#tokenizer = new Tokenizer(file, files.config ?? {});
    } catch (error) {
      throw new TokenizerError(String(error), { cause: error });
    }
    const addedIds = new Set(file.added_tokens.map((token) => token.id));
    const special = file.added_tokens.filter((token) => token.special);
    this.#specialIds = new Set(special.map((token) => token.id));
    this.pieces = new TokenPieces(
      file.decoder,
      (id) => this.#tokenizer.id_to_token(id),
      (id) => addedIds.has(id),
    );
    let maxId = -1;
    for (const id of this.#tokenizer.get_vocab().values()) maxId = Math.max(maxId, id);
    this.vocabSize = maxId + 1;
    this.bosTokenId = this.#idOf(files.bosToken);
    const eosTokenId = this.#idOf(files.eosToken);
    const named = eosTokenId === null ? [] : [eosTokenId];
    this.eosTokenIds = [...new Set([...named, ...(files.eosTokenIds ?? [])])];
  }

  /**
   * Reads tokenizer.json, tokenizer_config.json and generation_config.json of a model folder; only
   * the first must be there.
   * @throws TokenizerError naming the file that is missing or damaged.
   */
  static async load(folder: string): Promise<TextTokenizer> {
    const path = join(folder, 'tokenizer.json');
    const [tokenizer, config, eosTokenIds] = await Promise.all([
      readJsonFile(path, z.looseObject({})),
      readTokenizerConfig(folder),
      readEosTokenIds(folder),
    ]);
    if (tokenizer === null) {
      throw new TokenizerError(
        `${path} is missing; a model folder needs a tokenizer in Hugging Face's tokenizer.json format`,
      );
    }
    try {
      return new TextTokenizer({
        tokenizer,
        config: config.raw,
        bosToken: config.specialTokens['bos_token'],
        eosToken: config.specialTokens['eos_token'],
        eosTokenIds,
      });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new TokenizerError(`${path}: ${reason}`, { cause: error });
    }
  }

  /**
   * The text of a special token (`<|im_end|>`) within `text` becomes that token, wherever the text
   * comes from (as in vLLM and transformers).
   * @param options.addSpecialTokens add what the model wants around a text, such as a begin token;
   *   not for rendered chat templates, which write their own.
   */
  encode(text: string, options: { readonly addSpecialTokens: boolean }): Int32Array {
    if (text === '' && !options.addSpecialTokens) return new Int32Array();
    const { ids } = this.#tokenizer.encode(text, { add_special_tokens: options.addSpecialTokens });
    // A vocabulary without an unknown token yields undefined for what it lacks.
    return Int32Array.from(ids.filter((id) => id !== undefined));
  }

  /** Decodes a whole text; ids outside the vocabulary are skipped. For a growing one: Detokenizer. */
  decode(tokenIds: Iterable<number>, options: { readonly skipSpecialTokens: boolean }): string {
    const shown = [...tokenIds].filter(
      (id) =>
        this.#tokenizer.id_to_token(id) !== undefined &&
        !(options.skipSpecialTokens && this.isSpecial(id)),
    );
    // The library refuses an empty list.
    if (shown.length === 0) return '';
    // Cleaning up spaces changes text that was already streamed; models of today don't want it.
    return this.#tokenizer.decode(shown, { clean_up_tokenization_spaces: false });
  }

  isSpecial(id: number): boolean {
    return this.#specialIds.has(id);
  }

  tokenToId(token: string): number | undefined {
    return this.#tokenizer.token_to_id(token);
  }

  /** The token as the vocabulary spells it, such as `Ġthe`. */
  idToToken(id: number): string | undefined {
    return this.#tokenizer.id_to_token(id);
  }

  #idOf(token: string | undefined): number | null {
    return token === undefined ? null : (this.tokenToId(token) ?? null);
  }
}
