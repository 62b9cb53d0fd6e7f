/** Requests to a text encoder, and its answers. */
import type { EncoderLabels } from '../../model/encoder/encoder-labels.ts';
import type { SentenceModules } from '../../model/encoder/sentence-modules.ts';
import { LIMITS } from '../../limits.ts';
import type { Caller } from '../caller.ts';
import { type EncodedText, TextTooLongError, type Truncation } from './encoder-tokenizer.ts';

export interface EmbedOptions {
  /** Length of the vectors; the model's own if left out. */
  readonly dimensions?: number | null;
  /**
   * Which of the model's prompts comes before each text; the model's default if left out. Of several names
   * the first that the model has is taken, if any.
   */
  readonly promptName?: string | readonly string[] | null;
  /** Whether texts that are too long are cut; otherwise they are refused. */
  readonly truncate?: boolean;
  /** Lower goes first. */
  readonly priority?: number;
}

export interface Embeddings {
  /** In the order of the inputs. */
  readonly vectors: readonly Float32Array[];
  /** Tokens of all inputs. */
  readonly numTokens: number;
  /** Tokens of each input. */
  readonly tokenCounts: readonly number[];
}

/** Makes vectors of inputs of some type. */
export type Embed<Input = string | Int32Array> = (
  inputs: readonly Input[],
  options: EmbedOptions,
  caller: Caller,
) => Promise<Embeddings>;

export interface ClassifyOptions extends Pick<EmbedOptions, 'priority'> {
  readonly truncate?: Truncation;
}

/** A text, its token ids with the special ones, or two texts that are read together. */
export type ClassifierInput = string | Int32Array | readonly [string, string];

/** Characters or token ids. */
export function unitsOf(input: ClassifierInput): number {
  const isPair = typeof input !== 'string' && !(input instanceof Int32Array);
  return isPair ? input[0].length + input[1].length : input.length;
}

/** Tokens of texts, all together and of each. */
export function countsOf(
  texts: readonly EncodedText[],
): Pick<Embeddings, 'numTokens' | 'tokenCounts'> {
  const tokenCounts = texts.map(({ ids }) => ids.length);
  return { numTokens: tokenCounts.reduce((sum, count) => sum + count, 0), tokenCounts };
}

export interface Scores {
  /** Model's output for each document, in their order. */
  readonly logits: Float32Array;
  /** The same as the model wants it read: a probability, mostly. */
  readonly scores: Float32Array;
  readonly numTokens: number;
}

/** A vector for each token of each text, one after the other. */
export interface TokenEmbeddings extends Embeddings {
  /** Dimensions of one. */
  readonly width: number;
}

/** Words that a text has something to do with, and how much. */
export interface SparseVector {
  /** Token ids, ascending. */
  readonly ids: Int32Array;
  /** Above 0. */
  readonly weights: Float32Array;
}

export interface SparseEmbeddings extends Pick<Embeddings, 'numTokens' | 'tokenCounts'> {
  readonly vectors: readonly SparseVector[];
}

/** Makes vectors of texts, and scores of pairs of them. */
export interface TextEncoder {
  /** Labels that it can give texts; null for a model without. */
  readonly labels: EncoderLabels | null;
  /** Whether it gives the vectors of tokens. */
  readonly givesTokens: boolean;
  /**
   * @param inputs texts, or token ids with the special ones
   * @throws EncoderInputError, TextTooLongError; TaskTooCostlyError, QueueFullError, RunError,
   *   EngineError, ShuttingDownError; the signal's reason on abort
   */
  embed(
    inputs: readonly (string | Int32Array)[],
    options: EmbedOptions,
    caller: Caller,
  ): Promise<Embeddings>;
  /** @param pairs such as a query and a document @throws as `embed` */
  score(
    pairs: readonly (readonly [string, string])[],
    options: Pick<EmbedOptions, 'truncate' | 'priority'>,
    caller: Caller,
  ): Promise<Scores>;
  /**
   * The vectors of all tokens, as they are before they become one.
   * @throws as `embed`; EncoderInputError also where they are too many for an answer
   */
  embedTokens(
    inputs: readonly (string | Int32Array)[],
    options: Omit<EmbedOptions, 'dimensions'>,
    caller: Caller,
  ): Promise<TokenEmbeddings>;
  /** Weights of words, as SPLADE has them. @throws as `embedTokens` */
  embedSparse(
    inputs: readonly (string | Int32Array)[],
    options: Omit<EmbedOptions, 'dimensions'>,
    caller: Caller,
  ): Promise<SparseEmbeddings>;
  /** The logits of each input's labels, as vectors. @throws as `embed` */
  classify(
    inputs: readonly ClassifierInput[],
    options: ClassifyOptions,
    caller: Caller,
  ): Promise<Embeddings>;
}

/** A request asks of a text encoder what it can't do; the message is for the client. */
export class EncoderInputError extends Error {
  override readonly name = 'EncoderInputError';
}

/** @throws EncoderInputError for numbers that would take more memory than the answer of a request may */
export function requireOutputRoom(numNumbers: number): void {
  const bytes = Float32Array.BYTES_PER_ELEMENT * numNumbers;
  if (bytes <= LIMITS.tensorOutputBytes) return;
  throw new EncoderInputError(
    `the answer would have ${bytes} bytes of numbers; ${LIMITS.tensorOutputBytes} are the most: send fewer texts`,
  );
}

/**
 * @throws EncoderInputError when the model's vectors, of `dim` dimensions, can't be cut to `dimensions`
 */
export function requireDimensions(
  dimensions: number,
  dim: number,
  { matryoshkaDimensions: allowed }: Pick<SentenceModules, 'matryoshkaDimensions'>,
): void {
  if (dimensions === dim) return;
  if (allowed === null) {
    throw new EncoderInputError(
      `the model's embeddings have ${dim} dimensions; fewer are not supported`,
    );
  }
  const fits = allowed === 'any' ? dimensions < dim : allowed.includes(dimensions);
  if (fits && dimensions > 0) return;
  const which = allowed === 'any' ? `1 to ${dim}` : allowed.join(', ');
  throw new EncoderInputError(`the model's embeddings can have ${which} dimensions`);
}

/**
 * Text that is put before each input.
 * @param name null for the model's default, usually no text; see `EmbedOptions`
 * @throws EncoderInputError when the model has no such prompt
 */
export function promptOf(
  name: string | readonly string[] | null,
  { prompts, defaultPromptName }: Pick<SentenceModules, 'prompts' | 'defaultPromptName'>,
): string {
  const wanted =
    typeof name === 'object' && name !== null
      ? (name.find((each) => Object.hasOwn(prompts, each)) ?? null)
      : name;
  const chosen = wanted ?? defaultPromptName;
  if (chosen === null) return '';
  const prompt = Object.hasOwn(prompts, chosen) ? prompts[chosen] : undefined;
  if (prompt !== undefined) return prompt;
  const known = Object.keys(prompts).join(', ') || 'none';
  throw new EncoderInputError(`the model has no prompt "${chosen}"; it has ${known}`);
}

interface TokenIdOptions {
  readonly vocabSize: number;
  readonly maxTokens: number;
  readonly truncate: boolean;
  /** Index of the input in its request. */
  readonly index: number;
}

/** Token ids as they came, special ones included. @throws EncoderInputError, TextTooLongError */
export function checkTokenIds(
  ids: Int32Array,
  { vocabSize, maxTokens, truncate, index }: TokenIdOptions,
): EncodedText {
  if (ids.length === 0) throw new EncoderInputError('an input has no tokens');
  const unknown = ids.find((id) => id < 0 || id >= vocabSize);
  if (unknown !== undefined) {
    throw new EncoderInputError(`${unknown} is not a token id: they go from 0 to ${vocabSize - 1}`);
  }
  if (ids.length <= maxTokens) return { ids, secondStart: ids.length };
  if (!truncate) throw new TextTooLongError(index, ids.length, maxTokens);
  return { ids: ids.slice(0, maxTokens), secondStart: maxTokens };
}
