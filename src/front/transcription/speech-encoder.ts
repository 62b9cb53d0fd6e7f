/** A model's ears: the embeddings that it has of windows of speech. */
import { LIMITS } from '../../limits.ts';
import { once } from '../../once.ts';
import type { EmbeddedImages, EmbedFor, EmbeddingCounts } from '../generation/prompt-image.ts';
import type { PromptSpeech, SpeechEmbedder } from '../generation/prompt-speech.ts';
import { ClientBudget } from '../images/client-budget.ts';
import { KnownRows, type Rows } from '../tensors/known-rows.ts';
import type { TensorModel } from '../tensors/tensor-model.ts';

/** Facts about speech for a model that hears. */
export interface SpeechFormat {
  /** Mel bins of a frame, and frames of a window. */
  readonly numMels: number;
  readonly numFrames: number;
  /** Positions that a window takes in a prompt. */
  readonly numPositions: number;
  /** Width of its embeddings. */
  readonly hiddenSize: number;
}

export interface SpeechEncoderOptions {
  readonly format: SpeechFormat;
  /** Gives a window's embeddings, float [1, positions, hidden]. */
  readonly encoder: Pick<TensorModel, 'infer'>;
}

export class SpeechEncoder implements SpeechEmbedder {
  readonly #options: SpeechEncoderOptions;
  readonly #held = new ClientBudget(LIMITS.speechEmbeddingBytes, LIMITS.clientSpeechEmbeddingBytes);
  /** By hash and salt. */
  readonly #known = new KnownRows(LIMITS.speechCacheBytes);

  constructor(options: SpeechEncoderOptions) {
    this.#options = options;
  }

  get format(): SpeechFormat {
    return this.#options.format;
  }

  get counts(): EmbeddingCounts {
    return this.#known.counts;
  }

  async embed(
    { features, hash }: PromptSpeech,
    salt: string,
    { client, signal }: EmbedFor,
  ): Promise<EmbeddedImages> {
    const { numPositions, hiddenSize } = this.#options.format;
    const bytes = numPositions * hiddenSize * Float32Array.BYTES_PER_ELEMENT;
    this.#held.take(client, bytes);
    const release = once(() => this.#held.give(client, bytes));
    try {
      const compute = () => this.#encode(features, { client, signal });
      const rows = await this.#known.of(`${hash} ${salt}`, signal, compute);
      return { embeddings: [{ start: 0, rows }], release };
    } catch (error) {
      release();
      throw error;
    }
  }

  async #encode(data: Float32Array<ArrayBuffer>, caller: EmbedFor): Promise<Rows> {
    const { format, encoder } = this.#options;
    const shape = [1, format.numMels, format.numFrames];
    const input = { name: 'features', datatype: 'FP32', shape, data } as const;
    const [made] = await encoder.infer([input], {}, caller);
    if (!(made?.data instanceof Float32Array)) throw new Error('the encoder gave no embeddings');
    return new Float32Array(made.data);
  }
}
