import type { EncoderPrecision } from '../../model/encoder/encoder-nodes.ts';
import {
  type EncoderFolder,
  inspectEncoderFolder,
  scoredTokens,
} from '../../model/encoder/encoder-folder.ts';
import type { EncoderKind } from '../../model/encoder/encoder-kind.ts';
import type { EncoderLabels } from '../../model/encoder/encoder-labels.ts';
import type { BatcherOptions } from '../batching/batcher-options.ts';
import type { BatcherStats } from '../batching/batcher-stats.ts';
import type { Caller } from '../caller.ts';
import { requireComputable } from '../not-cached-error.ts';
import type { EngineState } from '../engine-process/engine-contract.ts';
import type { EncoderClientOptions } from '../encoder-process/encoder-client.ts';
import { EncoderEngine } from '../encoder-process/encoder-engine.ts';
import {
  type ClassifierInput,
  type ClassifyOptions,
  countsOf,
  type Embeddings,
  type EmbedOptions,
  EncoderInputError,
  promptOf,
  requireDimensions,
  requireOutputRoom,
  type Scores,
  type SparseEmbeddings,
  type TextEncoder,
  type TokenEmbeddings,
} from './embed-request.ts';
import { madeTextFolder } from '../../model/tokenizer/made-text-folder.ts';
import { EncoderTokenizer, type EncoderTokenizerSource } from './encoder-tokenizer.ts';
import { LateModel } from './late-model.ts';
import { LateReader } from './late-texts.ts';
import { requireKind, USES } from './require-kind.ts';
import { sparseVectorOf } from './sparse-vector.ts';
import { TextInputs } from './text-inputs.ts';
import { TextRuns } from './text-runs.ts';
import { changedInTurns, shortened, sigmoid } from './vectors.ts';

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
  readonly #inputs: TextInputs;
  readonly #engine: EncoderEngine;
  readonly #runs: TextRuns;
  /** Null for other models than those of late interaction. */
  readonly #late: LateModel | null;

  private constructor(
    folder: EncoderFolder,
    texts: EncoderTokenizerSource,
    tokenizer: EncoderTokenizer,
    { folder: _path, precision, cacheDirectory, tokenizerThreads, ...options }: TextModelOptions,
  ) {
    this.#folder = folder;
    this.#tokenizer = tokenizer;
    const source = { type: 'text', folder: folder.path, precision, cacheDirectory } as const;
    const batching = batchingOf(folder, options.batching);
    this.#engine = new EncoderEngine({ ...options, source, batching });
    this.#runs = new TextRuns(this.#engine);
    this.#inputs = new TextInputs({
      tokenizer,
      source: texts,
      tokenizerThreads,
      maxTokens: folder.maxTokens,
      textEnd: folder.textEnd,
      engine: this.#engine,
    });
    const { modules, maxTokens } = folder;
    this.#late =
      modules.late &&
      new LateModel({
        reader: new LateReader(modules.late, tokenizer),
        inputs: this.#inputs,
        maxTokens,
        runs: this.#runs,
      });
  }

  /** Looks into the folder; nothing is loaded yet. @throws ModelError, TokenizerError */
  static async open(options: TextModelOptions): Promise<TextModel> {
    const folder = await inspectEncoderFolder(options.folder);
    const texts = await tokenizerOf(folder, options.cacheDirectory);
    return new TextModel(folder, texts, await EncoderTokenizer.load(texts), options);
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
    this.#inputs.close();
    await this.#engine.stop();
  }

  /** @throws as TextEncoder.embed */
  async embed(
    inputs: readonly (string | Int32Array)[],
    { dimensions = null, promptName = null, truncate = false, priority = 0 }: EmbedOptions,
    caller: Caller,
  ): Promise<Embeddings> {
    requireComputable(caller);
    requireKind(this.kind, 'embedding');
    const { modules } = this.#folder;
    if (dimensions !== null) requireDimensions(dimensions, this.dim, modules);
    const prompt = promptOf(promptName, modules);
    const encoded = await this.#inputs.encode(inputs, prompt, truncate, caller);
    const whole = await this.#runs.vectors(encoded, priority, caller);
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
    if (this.#late !== null) {
      const options = { promptName, truncate, priority };
      return await this.#late.embedTokens(inputs, options, caller, this.#tokenDim ?? 0);
    }
    requireKind(this.kind, 'embedding');
    const width = this.#tokenDim;
    if (width === null)
      throw new EncoderInputError("the model's export gives no vectors of tokens");
    const prompt = promptOf(promptName, this.#folder.modules);
    const encoded = await this.#inputs.encode(inputs, prompt, truncate, caller);
    const counts = countsOf(encoded);
    requireOutputRoom(counts.numTokens * width);
    const vectors = await this.#runs.vectors(encoded, priority, caller, width);
    return { vectors, ...counts, width };
  }

  /** @throws as TextEncoder.embedSparse */
  async embedSparse(
    inputs: readonly (string | Int32Array)[],
    { promptName = null, truncate = false, priority = 0 }: Omit<EmbedOptions, 'dimensions'>,
    caller: Caller,
  ): Promise<SparseEmbeddings> {
    requireComputable(caller);
    requireKind(this.kind, 'sparse');
    // As if all words of the vocabulary were in each text.
    requireOutputRoom(inputs.length * this.dim);
    const prompt = promptOf(promptName, this.#folder.modules);
    const encoded = await this.#inputs.encode(inputs, prompt, truncate, caller);
    const numbers = 2 * this.dim;
    const outputs = await this.#runs.outputs(encoded, priority, caller, { numbers });
    return { vectors: outputs.map(sparseVectorOf), ...countsOf(encoded) };
  }

  /** Scores pairs of texts, with a cross-encoder or by their tokens' vectors. @throws as TextEncoder.score */
  async score(
    pairs: readonly (readonly [string, string])[],
    { truncate = true, priority = 0 }: Pick<EmbedOptions, 'truncate' | 'priority'>,
    caller: Caller,
  ): Promise<Scores> {
    requireComputable(caller);
    if (this.#late !== null) {
      const width = this.#tokenDim ?? 0;
      return await this.#late.score(pairs, { truncate, priority }, caller, width);
    }
    requireKind(this.kind, 'reranker');
    const encoded = await this.#inputs.encode(pairs, '', truncate, caller);
    const rows = await this.#runs.vectors(encoded, priority, caller);
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
    { truncate = false, priority = 0 }: ClassifyOptions,
    caller: Caller,
  ): Promise<Embeddings> {
    requireComputable(caller);
    if (this.labels === null) {
      throw new EncoderInputError(`the model ${USES[this.kind]} and has no labels for texts`);
    }
    const encoded = await this.#inputs.encode(inputs, '', truncate, caller);
    const vectors = await this.#runs.vectors(encoded, priority, caller);
    return { vectors, ...countsOf(encoded) };
  }
}

/** Batches no larger than what the scores of all words take memory for. */
function batchingOf({ graph }: EncoderFolder, batching: BatcherOptions): BatcherOptions {
  const most = scoredTokens(graph);
  if (most === null) return batching;
  return { ...batching, maxBatchTokens: Math.min(most, batching.maxBatchTokens ?? most) };
}

async function tokenizerOf(
  { path, facts }: EncoderFolder,
  cacheDirectory: string,
): Promise<EncoderTokenizerSource> {
  const folder = await madeTextFolder(path, cacheDirectory);
  return { folder, ...(facts.vocabSize !== null && { modelSize: facts.vocabSize }) };
}
