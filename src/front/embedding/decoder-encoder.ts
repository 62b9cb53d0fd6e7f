import type { Readout } from '../../engine/request.ts';
import type { LogitScore, SentenceModules } from '../../model/encoder/sentence-modules.ts';
import type { Caller } from '../caller.ts';
import type { PromptReader } from '../generation/prompt-reader.ts';
import { PromptTooLongError } from '../prompts/prompt-job.ts';
import { requireComputable } from '../not-cached-error.ts';
import type { PromptEncoder } from '../prompts/prompt-encoder.ts';
import type { TextTokenizer } from '../text/tokenizer.ts';
import {
  checkTokenIds,
  type Embeddings,
  type EmbedOptions,
  EncoderInputError,
  promptOf,
  requireDimensions,
  type Scores,
  type TextEncoder,
} from './embed-request.ts';
import { TextTooLongError } from './encoder-tokenizer.ts';
import { inGroups } from './text-groups.ts';
import { changedInTurns, normalized, shortened, sigmoid } from './vectors.ts';

export interface DecoderEncoderOptions {
  readonly reader: Pick<PromptReader, 'read'>;
  readonly prompts: Pick<PromptEncoder, 'encodeTexts' | 'encodePairs'>;
  readonly tokenizer: Pick<
    TextTokenizer,
    'vocabSize' | 'isSpecial' | 'tokenToId' | 'maxTokenCharacters'
  >;
  readonly modules: SentenceModules;
  /** Width of the model's hidden state; null if the graph or the device does not output it. */
  readonly hiddenSize: number | null;
  /** Longest text in tokens. */
  readonly maxModelLen: number;
}

/** Pairs of tokens for a document that answers a query and one that does not, the preferred first. */
const ANSWERS = [
  ['yes', 'no'],
  ['Yes', 'No'],
  ['\u2581yes', '\u2581no'],
] as const;

/**
 * Embeddings and scores by a model that generates text: as Qwen3-Embedding has them, by the hidden state of
 * a text's last token; as Qwen3-Reranker has them, by how much likelier `yes` is than `no` after a prompt
 * with a query and a document.
 */
export class DecoderEncoder implements TextEncoder {
  readonly #options: DecoderEncoderOptions;
  readonly #maxTokens: number;
  readonly #logitScore: LogitScore | null;
  readonly labels = null;
  readonly givesTokens = false;

  constructor(options: DecoderEncoderOptions) {
    const { modules, maxModelLen, tokenizer } = options;
    this.#options = options;
    this.#maxTokens = Math.min(modules.maxTokens ?? maxModelLen, maxModelLen);
    this.#logitScore = modules.logitScore ?? answersOf(tokenizer);
  }

  /** @throws as TextEncoder.embed */
  async embed(
    inputs: readonly (string | Int32Array)[],
    { dimensions = null, promptName = null, truncate = false, priority = 0 }: EmbedOptions,
    caller: Caller,
  ): Promise<Embeddings> {
    requireComputable(caller);
    const { modules, reader, tokenizer } = this.#options;
    const dim = this.#requireEmbeddings();
    if (dimensions !== null) requireDimensions(dimensions, dim, modules);
    const prompt = promptOf(promptName, modules);
    const texts = inputs.flatMap((input) => (typeof input === 'string' ? [prompt + input] : []));
    const tokenized = await this.#tokenize(texts, truncate, caller);
    const { vocabSize } = tokenizer;
    const maxTokens = this.#maxTokens;
    const prompts = inputs.map((input, index) => {
      const ids = typeof input === 'string' ? (tokenized.shift() ?? new Int32Array()) : input;
      const cut = truncate ? this.#cut(ids) : ids;
      return checkTokenIds(cut, { vocabSize, maxTokens, truncate, index }).ids;
    });
    const readout = { kind: 'hidden' } as const;
    const states = await reader.read({ prompts, readout, priority }, caller);
    const vectors = await changedInTurns(states, (state) => {
      const vector = modules.normalize ? normalized(state) : state;
      return dimensions === null ? vector : shortened(vector, dimensions);
    });
    const tokenCounts = prompts.map(({ length }) => length);
    return { vectors, numTokens: count(prompts), tokenCounts };
  }

  /** @throws as TextEncoder.score */
  async score(
    pairs: readonly (readonly [string, string])[],
    { truncate = true, priority = 0 }: Pick<EmbedOptions, 'truncate' | 'priority'>,
    caller: Caller,
  ): Promise<Scores> {
    requireComputable(caller);
    const { reader, prompts: encoder } = this.#options;
    const readout = this.#requireScores();
    const maxTokens = truncate ? this.#maxTokens : Infinity;
    const prompts: Int32Array[] = [];
    for (const group of inGroups(pairs, ([query, document]) => query.length + document.length)) {
      const encoding = encoder.encodePairs(group, maxTokens, caller);
      prompts.push(...(await encoding.catch((error: unknown) => this.#tooLong(error))));
    }
    for (const [index, { length }] of prompts.entries()) {
      if (length > this.#maxTokens) throw new TextTooLongError(index, length, this.#maxTokens);
    }
    const read = await reader.read({ prompts, readout, priority }, caller);
    const logits = Float32Array.from(read, ([yes = 0, no = 0]) => yes - no);
    return { logits, scores: logits.map(sigmoid), numTokens: count(prompts) };
  }

  /** @throws EncoderInputError */
  classify(): Promise<never> {
    throw new EncoderInputError(
      'the model generates text and has no labels to classify texts with',
    );
  }

  /** @throws EncoderInputError */
  embedTokens(): Promise<never> {
    throw new EncoderInputError('the model generates text and gives no vectors of tokens');
  }

  /** @throws EncoderInputError */
  embedSparse(): Promise<never> {
    throw new EncoderInputError('the model generates text and gives no weights of words');
  }

  async #tokenize(
    texts: readonly string[],
    truncate: boolean,
    caller: Caller,
  ): Promise<Int32Array[]> {
    const { prompts, tokenizer } = this.#options;
    // A text with more characters has more than `#maxTokens` tokens.
    const most = this.#maxTokens * tokenizer.maxTokenCharacters;
    const given = truncate ? texts.map((text) => text.slice(0, most)) : texts;
    const maxTokens = truncate ? Infinity : this.#maxTokens;
    const tokenized: Int32Array[] = [];
    for (const group of inGroups(given, ({ length }) => length)) {
      const encoding = prompts.encodeTexts(group, { addSpecialTokens: true, maxTokens }, caller);
      tokenized.push(...(await encoding.catch((error: unknown) => this.#tooLong(error))));
    }
    return tokenized;
  }

  /** Cuts a text, but keeps a special token at its end: the model reads it as the end of the text. */
  #cut(ids: Int32Array): Int32Array {
    const last = ids.at(-1) ?? -1;
    if (ids.length <= this.#maxTokens || !this.#options.tokenizer.isSpecial(last)) return ids;
    const cut = ids.slice(0, this.#maxTokens);
    cut[cut.length - 1] = last;
    return cut;
  }

  #requireEmbeddings(): number {
    const { hiddenSize, modules } = this.#options;
    if (hiddenSize === null) {
      throw new EncoderInputError(
        'the model makes no embeddings: its graph or its device gives no hidden states',
      );
    }
    const [pooling = 'none', ...others] = modules.pooling;
    if (pooling !== 'last' || others.length > 0 || modules.dense.length > 0) {
      throw new EncoderInputError(
        'the model makes no embeddings: of models that generate text, only pooling of the last token ' +
          `without dense layers is supported, not ${modules.pooling.join(' and ')}`,
      );
    }
    return hiddenSize;
  }

  #requireScores(): Readout {
    if (this.#logitScore === null) {
      throw new EncoderInputError('the model has no tokens `yes` and `no` to score texts with');
    }
    const { trueTokenId, falseTokenId } = this.#logitScore;
    const tokenIds = [trueTokenId, ...(falseTokenId === null ? [] : [falseTokenId])];
    return { kind: 'logits', tokenIds: Int32Array.from(tokenIds) };
  }

  #tooLong(error: unknown): never {
    if (!(error instanceof PromptTooLongError)) throw error;
    throw new TextTooLongError(0, error.minTokens, this.#maxTokens);
  }
}

function answersOf(tokenizer: Pick<TextTokenizer, 'tokenToId'>): LogitScore | null {
  for (const [yes, no] of ANSWERS) {
    const trueTokenId = tokenizer.tokenToId(yes);
    const falseTokenId = tokenizer.tokenToId(no);
    if (trueTokenId !== undefined && falseTokenId !== undefined)
      return { trueTokenId, falseTokenId };
  }
  return null;
}

function count(prompts: readonly Int32Array[]): number {
  return prompts.reduce((sum, { length }) => sum + length, 0);
}
