/** Texts and pairs of texts to an encoder's tokens, over a Hugging Face tokenizer.json of any kind. */
import { exactPreTokenizer } from '../text/exact-pre-tokenizer.ts';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { z } from 'zod';
import { MissingTokenError, ModelVocabulary } from '../text/model-vocabulary.ts';
import { typedModel } from '../text/tokenizer-model.ts';
import { readJsonFile, readTokenizerConfig, TokenizerError } from '../text/tokenizer-files.ts';

/** A text's tokens, special ones included. */
export interface EncodedText {
  readonly ids: Int32Array;
  /** Index at which the second text of a pair begins; the number of ids if there is only one text. */
  readonly secondStart: number;
}

/** Whether texts that are too long are cut: of two the longer one first, or the first one alone. */
export type Truncation = boolean | 'first';

/** A text is longer than the model takes. */
export class TextTooLongError extends Error {
  override readonly name = 'TextTooLongError';
  /** Which of those that were given, from 0. */
  readonly index: number;
  readonly numTokens: number;
  readonly maxTokens: number;

  constructor(index: number, numTokens: number, maxTokens: number) {
    super(`the text has ${numTokens} tokens; the model takes ${maxTokens} at most`);
    this.index = index;
    this.numTokens = numTokens;
    this.maxTokens = maxTokens;
  }
}

/** An error of texts that are only some of a request's: it names another place there. */
export function placedIn(places: readonly number[], error: unknown): unknown {
  if (!(error instanceof TextTooLongError)) return error;
  return new TextTooLongError(places[error.index] ?? 0, error.numTokens, error.maxTokens);
}

/** The tokens that the model wants around texts. */
interface Wrapping {
  readonly before: readonly number[];
  readonly between: readonly number[];
  readonly after: readonly number[];
  /** How many of those between the texts are of the first one's type; null without types. */
  readonly betweenOfFirst: number | null;
}

const tokenizerFile = z.looseObject({
  model: z.record(z.string(), z.unknown()),
  added_tokens: z.array(z.looseObject({ content: z.string() })).default([]),
});

/** A plain value that crosses threads. */
export interface EncoderTokenizerSource {
  readonly folder: string;
  /** Tokens that the model has; any number if left out. */
  readonly modelSize?: number;
}

/** Part of the library that is used; its own types don't resolve under `nodenext`. */
interface Library {
  encode(
    text: string,
    options: {
      text_pair?: string;
      add_special_tokens: boolean;
      return_token_type_ids?: boolean;
    },
  ): { ids: (number | undefined)[]; token_type_ids?: number[] };
  get_vocab(): Map<string, number>;
}

export class EncoderTokenizer {
  /** Tokens that texts may have. */
  readonly vocabulary: ModelVocabulary;
  /** Fills up texts where a model reads what comes after them. */
  readonly padTokenId: number;
  /** Fills up queries of late interaction. */
  readonly fillTokenId: number;
  /** Null without one. */
  readonly unknownTokenId: number | null;
  readonly #library: Library;
  readonly #ids: ReadonlyMap<string, number>;
  readonly #single: Wrapping;
  readonly #pair: Wrapping;

  /** @param modelSize tokens that the model has */
  constructor(tokenizer: z.infer<typeof tokenizerFile>, config: object, modelSize = Infinity) {
    const model = typedModel(tokenizer.model);
    // The library reads these without asking whether they are there.
    const file = { normalizer: null, pre_tokenizer: null, ...tokenizer, model };
    try {
      const pre_tokenizer = exactPreTokenizer(file.pre_tokenizer);
      const steps = { post_processor: null, decoder: null, ...file, pre_tokenizer };
      this.#library = new Tokenizer(steps, config);
    } catch (error) {
      throw new TokenizerError(String(error), { cause: error });
    }
    const added = new Set(file.added_tokens.map(({ content }) => content));
    const ids = this.#library.get_vocab();
    this.vocabulary = new ModelVocabulary({ ids, added }, modelSize);
    this.#ids = ids;
    const roles = rolesSchema.parse(config);
    this.padTokenId = this.idOf(roles.pad_token) ?? 0;
    this.fillTokenId = this.idOf(roles.mask_token) ?? this.idOf(roles.eos_token) ?? this.padTokenId;
    this.unknownTokenId = this.idOf(roles.unk_token);
    this.#single = this.#wrapping(false);
    this.#pair = this.#wrapping(true);
  }

  /** @throws TokenizerError naming the file that is missing, damaged or of another model */
  static async load({ folder, modelSize }: EncoderTokenizerSource): Promise<EncoderTokenizer> {
    const path = join(folder, 'tokenizer.json');
    const [tokenizer, { raw }] = await Promise.all([
      readJsonFile(path, tokenizerFile),
      readTokenizerConfig(folder),
    ]);
    if (tokenizer === null) throw new TokenizerError(`${path} is missing`);
    try {
      return new EncoderTokenizer(tokenizer, raw, modelSize);
    } catch (error) {
      if (!(error instanceof TokenizerError || error instanceof MissingTokenError)) throw error;
      throw new TokenizerError(`${path}: ${error.message}`, { cause: error });
    }
  }

  /** A token's id by its text; null for one that the model does not have. */
  idOf(token: string): number | null {
    const id = this.#ids.get(token);
    return id !== undefined && this.vocabulary.has(id) ? id : null;
  }

  /** How many tokens come on top of those of a text, or of two. */
  numSpecial(isPair: boolean): number {
    const { before, between, after } = isPair ? this.#pair : this.#single;
    return before.length + between.length + after.length;
  }

  /**
   * @param truncate cut what is too long at its end
   * @throws TextTooLongError, MissingTokenError
   */
  encode(
    [first, second = null]: readonly [string, (string | null)?],
    { maxTokens, truncate, index = 0 }: { maxTokens: number; truncate: Truncation; index?: number },
  ): EncodedText {
    const { before, between, after, betweenOfFirst } = second === null ? this.#single : this.#pair;
    const [a, b] = [this.#idsOf(first), second === null ? [] : this.#idsOf(second)];
    const room = maxTokens - this.numSpecial(second !== null);
    const least = truncate === 'first' ? b.length : a.length + b.length;
    if (least > room && truncate !== true) {
      throw new TextTooLongError(index, a.length + b.length + maxTokens - room, maxTokens);
    }
    const [lengthA, lengthB] =
      truncate === 'first'
        ? [Math.min(a.length, room - b.length), b.length]
        : lengthsWithin(a.length, b.length, Math.max(0, room));
    const numOfFirst = before.length + lengthA + (betweenOfFirst ?? 0);
    const parts = [before, a.slice(0, lengthA), between, b.slice(0, lengthB), after];
    const ids = Int32Array.from(parts.flat());
    return { ids, secondStart: betweenOfFirst === null ? ids.length : numOfFirst };
  }

  #idsOf(text: string): number[] {
    if (text === '') return [];
    const { ids } = this.#library.encode(text, { add_special_tokens: false });
    return this.vocabulary.require(ids.filter((id) => id !== undefined));
  }

  /** Found by what becomes of a short text, so that it holds for every kind of post-processor. */
  #wrapping(isPair: boolean): Wrapping {
    const text = 'a';
    const plain = this.#idsOf(text);
    const { ids: wrapped, token_type_ids: types = [] } = this.#library.encode(text, {
      ...(isPair ? { text_pair: text } : {}),
      add_special_tokens: true,
      return_token_type_ids: true,
    });
    const ids = this.vocabulary.require(wrapped.filter((id) => id !== undefined));
    const start = placeOf(plain, ids, 0);
    const end = start + plain.length;
    if (!isPair) {
      const after = ids.slice(end);
      return { before: ids.slice(0, start), between: [], after, betweenOfFirst: null };
    }
    const second = placeOf(plain, ids, end);
    const hasTypes = types[second] === 1;
    return {
      before: ids.slice(0, start),
      between: ids.slice(end, second),
      after: ids.slice(second + plain.length),
      betweenOfFirst: hasTypes
        ? types.slice(end, second).filter((type) => type === 0).length
        : null,
    };
  }
}

const tokenSchema = z
  .union([z.string(), z.looseObject({ content: z.string() }).transform((each) => each.content)])
  .catch('');

/** Part of tokenizer_config.json. */
const rolesSchema = z.looseObject({
  pad_token: tokenSchema,
  mask_token: tokenSchema,
  eos_token: tokenSchema,
  unk_token: tokenSchema,
});

function placeOf(part: readonly number[], whole: readonly number[], from: number): number {
  for (let start = from; start + part.length <= whole.length; start++) {
    if (part.every((id, offset) => whole[start + offset] === id)) return start;
  }
  throw new TokenizerError('the tokenizer changes a text when it adds special tokens');
}

/** Token counts of two texts that fit in `room` together; the longer one is cut first. */
function lengthsWithin(a: number, b: number, room: number): readonly [number, number] {
  const excess = Math.max(0, a + b - room);
  const evened = Math.min(excess, Math.abs(a - b));
  const [keptA, keptB] = a > b ? [a - evened, b] : [a, b - evened];
  const rest = excess - evened;
  return [keptA - Math.ceil(rest / 2), keptB - Math.floor(rest / 2)];
}
