/** When the tokens of a text were said: by the positions of the window that a decoder's heads attend to. */
import type { TensorModel } from '../tensors/tensor-model.ts';
import type { EmbedFor } from '../generation/prompt-image.ts';
import type { PromptSpeech, SpeechEmbedder } from '../generation/prompt-speech.ts';
import { untilAborted } from '../until-aborted.ts';
import type { SpeechFormat } from './speech-encoder.ts';
import { warp } from './time-warping.ts';

/** Fewer positions have nothing to tell apart. */
const MIN_POSITIONS = 4;

type Model = Pick<TensorModel, 'start' | 'stop' | 'infer' | 'memoryBytes' | 'pids'>;

export interface SpeechAlignerOptions {
  readonly hearing: SpeechEmbedder;
  readonly format: SpeechFormat;
  /** Makes the model of buildAlignmentGraph, which is started with the first text. */
  readonly newModel: () => Model;
}

/** A text with the window that it was heard in. */
export interface AlignedText {
  readonly window: PromptSpeech;
  readonly prompt: readonly number[];
  /** At least one; prompt and tokens are no more than the model's texts may have. */
  readonly tokens: readonly number[];
  /** Positions of the window that have sound. */
  readonly positions: number;
}

export class SpeechAligner {
  readonly #options: SpeechAlignerOptions;
  #model: Model | null = null;
  #ready: Promise<void> | null = null;
  #isStopped = false;

  constructor(options: SpeechAlignerOptions) {
    this.#options = options;
  }

  /** Memory of its process, while there is one. */
  get memoryBytes(): number {
    return this.#model?.memoryBytes ?? 0;
  }

  get pids(): readonly (number | undefined)[] {
    return this.#model?.pids ?? [];
  }

  /**
   * @param salt shared by those who may find each other's embeddings
   * @returns for each token, the position at which it has been said
   * @throws as SpeechEmbedder and TensorModel do; EngineError where the graph can't be built or loaded; the
   *   signal's reason on abort
   */
  async align(
    { window, prompt, tokens, positions }: AlignedText,
    salt: string,
    caller: EmbedFor,
  ): Promise<Int32Array> {
    const { numPositions, hiddenSize } = this.#options.format;
    const columns = Math.min(positions, numPositions);
    if (columns < MIN_POSITIONS) return new Int32Array(tokens.length);
    const model = await this.#started(caller.signal);
    const held = await this.#options.hearing.embed(window, salt, caller);
    try {
      const ids = BigInt64Array.from([...prompt, ...tokens], BigInt);
      const span = BigInt64Array.of(BigInt(prompt.length), BigInt(columns));
      const data = new Float32Array(held.embeddings[0]?.rows ?? []);
      const shape = [numPositions, hiddenSize];
      const [made] = await model.infer(
        [
          { name: 'tokens', datatype: 'INT64', shape: [ids.length], data: ids },
          { name: 'embeddings', datatype: 'FP32', shape, data },
          { name: 'span', datatype: 'INT64', shape: [span.length], data: span },
        ],
        {},
        caller,
      );
      if (!(made?.data instanceof Float32Array)) throw new Error('the graph told nothing');
      return await warp(made.data, tokens.length, columns, caller.signal);
    } finally {
      held.release();
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#model?.stop();
  }

  async #started(signal: AbortSignal): Promise<Model> {
    signal.throwIfAborted();
    if (this.#isStopped) throw new Error('the model is stopped');
    this.#model ??= this.#options.newModel();
    const model = this.#model;
    this.#ready ??= this.#start(model);
    await untilAborted(this.#ready, signal);
    return model;
  }

  /** Another text may try again. */
  async #start(model: Model): Promise<void> {
    try {
      await model.start();
    } catch (error) {
      this.#model = null;
      this.#ready = null;
      await model.stop();
      throw error;
    }
  }
}
