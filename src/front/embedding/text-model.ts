import type { EncoderPrecision } from '../../model/encoder/bert-graph.ts';
import {
  type EncoderFolder,
  type EncoderKind,
  inspectEncoderFolder,
} from '../../model/encoder/encoder-folder.ts';
import type { EncoderLabels } from '../../model/encoder/encoder-labels.ts';
import type { BatcherOptions } from '../batching/batcher-options.ts';
import type { BatcherStats } from '../batching/batcher-stats.ts';
import type { Caller } from '../caller.ts';
import { requireComputable } from '../not-cached-error.ts';
import type { EngineState } from '../engine-process/engine-contract.ts';
import type { EncoderClientOptions } from '../encoder-process/encoder-client.ts';
import { EncoderEngine } from '../encoder-process/encoder-engine.ts';
import {
  checkTokenIds,
  type ClassifierInput,
  countsOf,
  type Embeddings,
  type EmbedOptions,
  EncoderInputError,
  promptOf,
  requireDimensions,
  requireOutputRoom,
  type Scores,
  type TextEncoder,
  type TokenEmbeddings,
  unitsOf,
} from './embed-request.ts';
import {
  type EncodedText,
  EncoderTokenizer,
  type EncoderTokenizerSource,
} from './encoder-tokenizer.ts';
import { TokenizePool } from './tokenize-pool.ts';
import { changedInTurns, ownVector, shortened, sigmoid } from './vectors.ts';

/** Most bytes of a character that waits to be tokenized; a token takes as many. */
const BYTES_PER_UNIT = 4;

export interface TextModelOptions extends EncoderClientOptions {
  readonly folder: string;
  readonly precision: EncoderPrecision;
  /** Where built graphs are kept. */
  readonly cacheDirectory: string;
  /** Intra-op threads of each instance; 0 for the number of usable cores. */
  readonly threads: number;
  readonly tokenizerThreads: number;
  readonly batching: BatcherOptions;
}

/** A text encoder: texts become vectors, or two texts a score. */
export class TextModel implements TextEncoder {
  readonly #folder: EncoderFolder;
  readonly #tokenizer: EncoderTokenizer;
  readonly #pool: TokenizePool;
  readonly #engine: EncoderEngine;

  private constructor(
    folder: EncoderFolder,
    tokenizer: EncoderTokenizer,
    { folder: _path, precision, cacheDirectory, tokenizerThreads, ...options }: TextModelOptions,
  ) {
    this.#folder = folder;
    this.#tokenizer = tokenizer;
    this.#pool = new TokenizePool(tokenizer, tokenizerOf(folder), tokenizerThreads);
    const source = { type: 'text', folder: folder.path, precision, cacheDirectory } as const;
    this.#engine = new EncoderEngine({ ...options, source });
  }

  /** Looks into the folder; nothing is loaded yet. @throws ModelError, TokenizerError */
  static async open(options: TextModelOptions): Promise<TextModel> {
    const folder = await inspectEncoderFolder(options.folder);
    return new TextModel(folder, await EncoderTokenizer.load(tokenizerOf(folder)), options);
  }

  get kind(): EncoderKind {
    return this.#folder.kind;
  }

  get labels(): EncoderLabels | null {
    return this.kind === 'reranker' ? this.#folder.facts.labels : null;
  }

  get givesTokens(): boolean {
    return this.#tokenDim !== null;
  }

  get #tokenDim(): number | null {
    return this.#engine.info.text?.tokenDim ?? null;
  }

  /** Warning for the operator who loads the model; null if there is none. */
  get warning(): string | null {
    return this.#tokenizer.vocabulary.warning;
  }

  /** Longest text in tokens, special ones included. */
  get maxTokens(): number {
    return this.#folder.maxTokens;
  }

  /** Dimensions of a vector; known once the model has started. */
  get dim(): number {
    return this.#engine.info.text?.dim ?? 0;
  }

  get state(): EngineState {
    return this.#engine.state;
  }

  get stats(): BatcherStats {
    return this.#engine.stats;
  }

  get numCrashes(): number {
    return this.#engine.numCrashes;
  }

  get pids(): readonly (number | undefined)[] {
    return this.#engine.pids;
  }

  /** Memory of the model's processes once they have started; size of its files before. */
  get memoryBytes(): number {
    const isLoaded = this.state === 'ready' || this.state === 'recovering';
    return isLoaded ? this.#engine.residentBytes : this.#folder.weightBytes;
  }

  /** @throws EngineError when the model can't be built or loaded */
  async start(): Promise<void> {
    await this.#engine.start();
  }

  close(): void {
    this.#engine.close();
  }

  async stop(): Promise<void> {
    this.#pool.close();
    await this.#engine.stop();
  }

  /** @throws as TextEncoder.embed */
  async embed(
    inputs: readonly (string | Int32Array)[],
    { dimensions = null, promptName = null, truncate = false, priority = 0 }: EmbedOptions,
    caller: Caller,
  ): Promise<Embeddings> {
    requireComputable(caller);
    this.#require('embedding');
    const { modules } = this.#folder;
    if (dimensions !== null) requireDimensions(dimensions, this.dim, modules);
    const prompt = promptOf(promptName, modules);
    const encoded = await this.#encode(inputs, prompt, truncate, caller);
    const whole = await this.#run(encoded, priority, caller);
    const vectors =
      dimensions === null
        ? whole
        : await changedInTurns(whole, (vector) => shortened(vector, dimensions));
    return { vectors, ...countsOf(encoded) };
  }

  /** @throws as TextEncoder.embedTokens */
  async embedTokens(
    inputs: readonly (string | Int32Array)[],
    { promptName = null, truncate = false, priority = 0 }: Omit<EmbedOptions, 'dimensions'>,
    caller: Caller,
  ): Promise<TokenEmbeddings> {
    requireComputable(caller);
    this.#require('embedding');
    const width = this.#tokenDim;
    if (width === null)
      throw new EncoderInputError("the model's export gives no vectors of tokens");
    const prompt = promptOf(promptName, this.#folder.modules);
    const encoded = await this.#encode(inputs, prompt, truncate, caller);
    const counts = countsOf(encoded);
    requireOutputRoom(counts.numTokens * width);
    const vectors = await this.#run(encoded, priority, caller, width);
    return { vectors, ...counts, width };
  }

  /** Scores pairs of texts, with a cross-encoder. @throws as TextEncoder.score */
  async score(
    pairs: readonly (readonly [string, string])[],
    { truncate = true, priority = 0 }: Pick<EmbedOptions, 'truncate' | 'priority'>,
    caller: Caller,
  ): Promise<Scores> {
    requireComputable(caller);
    this.#require('reranker');
    const encoded = await this.#encode(pairs, '', truncate, caller);
    const rows = await this.#run(encoded, priority, caller);
    // If there are two labels, the second is that of a match.
    const logits = Float32Array.from(rows, (row) =>
      row.length === 2 ? (row[1] ?? 0) - (row[0] ?? 0) : (row[0] ?? 0),
    );
    const isProbability = this.#folder.facts.scoreActivation === 'sigmoid';
    const scores = isProbability ? logits.map(sigmoid) : logits;
    return { logits, scores, numTokens: countsOf(encoded).numTokens };
  }

  /** @throws as TextEncoder.classify */
  async classify(
    inputs: readonly ClassifierInput[],
    { truncate = false, priority = 0 }: Pick<EmbedOptions, 'truncate' | 'priority'>,
    caller: Caller,
  ): Promise<Embeddings> {
    requireComputable(caller);
    if (this.labels === null) {
      throw new EncoderInputError('the model makes embeddings and has no labels for texts');
    }
    const encoded = await this.#encode(inputs, '', truncate, caller);
    const vectors = await this.#run(encoded, priority, caller);
    return { vectors, ...countsOf(encoded) };
  }

  async #encode(
    inputs: readonly ClassifierInput[],
    prompt: string,
    truncate: boolean,
    caller: Caller,
  ): Promise<readonly EncodedText[]> {
    const { size: vocabSize } = this.#tokenizer.vocabulary;
    const { maxTokens } = this;
    const units = inputs.reduce((sum, input) => sum + unitsOf(input), 0);
    const prepared = this.#engine.prepare(inputs.length, BYTES_PER_UNIT * units, caller.client);
    try {
      const texts = inputs.flatMap((input): (readonly [string, string?])[] => {
        if (typeof input === 'string') return [[prompt + input]];
        return input instanceof Int32Array ? [] : [input];
      });
      const tokenized = [...(await this.#tokenize(texts, truncate, caller))];
      return inputs.map((input, index) =>
        input instanceof Int32Array
          ? checkTokenIds(input, { vocabSize, maxTokens, truncate, index })
          : (tokenized.shift() ?? { ids: new Int32Array(), secondStart: 0 }),
      );
    } finally {
      prepared();
    }
  }

  async #tokenize(
    texts: readonly (readonly [string, string?])[],
    truncate: boolean,
    caller: Caller,
  ): Promise<readonly EncodedText[]> {
    if (texts.length === 0) return [];
    const begunAt = performance.now();
    try {
      return await this.#pool.run({ texts, maxTokens: this.maxTokens, truncate }, caller);
    } finally {
      caller.record?.tokenized(begunAt, performance.now());
    }
  }

  async #run(
    texts: readonly EncodedText[],
    priority: number,
    caller: Caller,
    tokenDim: number | null = null,
  ): Promise<Float32Array[]> {
    const wantsTokens = tokenDim !== null;
    const { numTokens } = countsOf(texts);
    if (caller.record) caller.record.numPromptTokens = numTokens;
    const requests = texts.map(({ ids, secondStart }) => ({
      input: { type: 'tokens', ids, secondStart, wantsTokens } as const,
      rows: 1,
      tokens: ids.length,
      // Outputs wait in the front, too; each number has four bytes, as an id has.
      bytes: ids.byteLength * (1 + (tokenDim ?? 0)),
      shape: wantsTokens ? 'tokens' : '',
      priority,
    }));
    const settle = await caller.meter?.charge(numTokens);
    const outputs = await this.#engine.submit(requests, caller).catch(async (error: unknown) => {
      await settle?.(0);
      throw error;
    });
    await settle?.(numTokens);
    return outputs.map(([vector]) => ownVector(vector?.data));
  }

  #require(kind: EncoderKind): void {
    if (this.kind === kind) return;
    throw new EncoderInputError(
      kind === 'embedding'
        ? 'the model scores pairs of texts and makes no embeddings'
        : 'the model makes embeddings and scores no pairs of texts',
    );
  }
}

function tokenizerOf({ path, facts }: EncoderFolder): EncoderTokenizerSource {
  return { folder: path, ...(facts.vocabSize !== null && { modelSize: facts.vocabSize }) };
}
