/** Text to token ids and back, over a Hugging Face tokenizer.json. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { Tokenizer } from '@huggingface/tokenizers';
import { z } from 'zod';
import { explainZod } from '../../explain-zod.ts';
import { type HfTokenizer, idsOf, RespelledTokenizer } from './respelled-tokenizer.ts';
import type { SecretSpelling } from './secret-spelling.ts';
import { exactPreTokenizer } from './exact-pre-tokenizer.ts';
import { TokenPieces } from './token-pieces.ts';
import { ModelVocabulary } from './model-vocabulary.ts';
import { maxTokenCharacters } from './token-reach.ts';
import {
  readEosTokenIds,
  readJsonFile,
  describedBy,
  readTokenizerConfig,
  TokenizerError,
} from './tokenizer-files.ts';
import { typedModel } from './tokenizer-model.ts';
import { addByteFallback, hasUnigramBytes } from './unigram-bytes.ts';
import { otherTokenizers } from '../../files/other-tokenizers.ts';
import { reasonOf } from '../../files/system-error.ts';

const tokenizerFile = z.looseObject({
  model: z.record(z.string(), z.unknown()),
  decoder: z.looseObject({ type: z.string() }),
  // The library reads these without checking that they exist.
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
    .transform((value) => exactPreTokenizer(value ?? null)),
  post_processor: z
    .unknown()
    .optional()
    .transform((value) => value ?? null),
});

export interface TokenizerFiles {
  /** The content of tokenizer.json. */
  readonly tokenizer: unknown;
  /** The content of tokenizer_config.json. */
  readonly config?: Readonly<Record<string, unknown>>;
  /**
   * Description that /tokenizer_info reports: `config`, with fields of other files; `config` if left
   * out.
   */
  readonly described?: Readonly<Record<string, unknown>>;
  readonly bosToken?: string | undefined;
  readonly eosToken?: string | undefined;
  readonly eosTokenIds?: readonly number[];
  /** Tokens that the model has; any number if left out. */
  readonly modelSize?: number;
}

export class TextTokenizer {
  readonly bosTokenId: number | null;
  /** Ids that end a text, and that the model has. Empty if the model folder names none. */
  readonly eosTokenIds: readonly number[];
  readonly pieces: TokenPieces;
  /** Tokens that prompts may have. */
  readonly vocabulary: ModelVocabulary;
  /** Content of tokenizer_config.json, with fields of the files next to it. */
  readonly described: Readonly<Record<string, unknown>>;
  /** See token-reach.ts. */
  readonly maxTokenCharacters: number;
  readonly #file: z.infer<typeof tokenizerFile>;
  readonly #config: Readonly<Record<string, unknown>>;
  readonly #tokenizer: HfTokenizer;
  readonly #specialIds: ReadonlySet<number>;

  /** @throws TokenizerError if the tokenizer is damaged or of an unsupported kind. */
  constructor(files: TokenizerFiles) {
    const parsed = tokenizerFile.safeParse(files.tokenizer);
    if (!parsed.success) throw new TokenizerError(explainZod(parsed.error));
    const file = { ...parsed.data, model: typedModel(parsed.data.model) };
    this.#file = file;
    this.#config = files.config ?? {};
    this.described = files.described ?? this.#config;
    this.maxTokenCharacters = maxTokenCharacters(file);
    try {
      this.#tokenizer = new Tokenizer(file, this.#config);
      if (hasUnigramBytes(file.model)) addByteFallback(this.#tokenizer.model);
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
    const ids = this.#tokenizer.get_vocab();
    const added = new Set(file.added_tokens.map(({ content }) => content));
    this.vocabulary = new ModelVocabulary({ ids, added }, files.modelSize ?? Infinity);
    this.bosTokenId = this.#idOf(files.bosToken);
    const eosTokenId = this.#idOf(files.eosToken);
    const named = eosTokenId === null ? [] : [eosTokenId];
    const all = new Set([...named, ...(files.eosTokenIds ?? [])]);
    this.eosTokenIds = [...all].filter((id) => this.vocabulary.has(id));
  }

  /**
   * Reads tokenizer.json, tokenizer_config.json and generation_config.json of a model folder; only
   * the first must be there.
   * @param modelSize tokens that the model has; any number if left out
   * @throws TokenizerError naming the file that is missing, damaged or of another model.
   */
  static async load(folder: string, modelSize?: number): Promise<TextTokenizer> {
    const path = join(folder, 'tokenizer.json');
    const [tokenizer, config, eosTokenIds] = await Promise.all([
      readJsonFile(path, z.looseObject({})),
      readTokenizerConfig(folder),
      readEosTokenIds(folder),
    ]);
    if (tokenizer === null) {
      const names = await readdir(folder).catch((): string[] => []);
      const other =
        otherTokenizers(names.sort()) ??
        "a model folder needs a tokenizer in Hugging Face's tokenizer.json format";
      throw new TokenizerError(`${path} is missing; ${other}`);
    }
    // Parsing one of 150,000 tokens takes 0.1 s of the front, and what follows 0.5 s, mostly of the library.
    await setImmediate();
    try {
      return new TextTokenizer({
        tokenizer,
        config: config.raw,
        described: describedBy(config),
        bosToken: config.specialTokens['bos_token'],
        eosToken: config.specialTokens['eos_token'],
        eosTokenIds,
        ...(modelSize !== undefined && { modelSize }),
      });
    } catch (error) {
      const reason = reasonOf(error);
      throw new TokenizerError(`${path}: ${reason}`, { cause: error });
    }
  }

  /** Number of token ids, added tokens included; the model's logits may have more rows. */
  get vocabSize(): number {
    return this.vocabulary.size;
  }

  /** Texts of the special tokens that are found within texts, such as `<|im_end|>`. */
  get specialTexts(): string[] {
    return this.#file.added_tokens.flatMap(({ content, special }) => (special ? [content] : []));
  }

  /** Texts of the tokens in addition to the vocabulary's words, special or not. */
  get addedTexts(): string[] {
    return this.#file.added_tokens.map(({ content }) => content);
  }

  /** The same tokenizer for texts that have special tokens spelled otherwise. */
  respelled(spelling: SecretSpelling): RespelledTokenizer {
    return new RespelledTokenizer(this.#file, this.#config, this.#tokenizer, spelling);
  }

  /**
   * The text of a special token (`<|im_end|>`) within `text` becomes that token, wherever the text
   * comes from (as in vLLM and transformers); for chats see chat-encoder.ts.
   * @param options.addSpecialTokens add what the model wants around a text, such as a begin token;
   *   not for rendered chat templates, which write their own.
   * @throws MissingTokenError
   */
  encode(text: string, options: { readonly addSpecialTokens: boolean }): Int32Array {
    if (text === '' && !options.addSpecialTokens) return new Int32Array();
    return this.vocabulary.require(idsOf(this.#tokenizer, text, options.addSpecialTokens));
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
    // Cleaning up spaces changes text that was already streamed; today's models don't need it.
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
