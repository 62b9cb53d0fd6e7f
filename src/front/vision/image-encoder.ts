/** The image tower of a model that embeds texts and images alike, CLIP or SigLIP. */
import type { TensorValue } from '../../encoder/tensors/tensor.ts';
import type { Preprocessing } from '../../images/preprocess.ts';
import type { LogitScale } from '../../model/dual/dual-folder.ts';
import type { Caller } from '../caller.ts';
import { type Embed, type Embeddings, requireDimensions } from '../embedding/embed-request.ts';
import { ownVector } from '../embedding/vectors.ts';
import type { ImagePool } from '../images/image-pool.ts';
import { requireComputable } from '../not-cached-error.ts';
import type { TensorModel } from '../tensors/tensor-model.ts';

/** Makes vectors of images, in the space of a model's vectors of texts. */
export interface ImageTower {
  /**
   * Vectors of the files of images, of length 1.
   * @throws as TextEncoder.embed; ImageError for a file that can't be read
   */
  readonly embed: Embed<Uint8Array>;
  /** From cosines of texts and images to logits, and from these to how likely each text is. */
  readonly scale: LogitScale;
  readonly probability: 'softmax' | 'sigmoid';
}

export interface ImageEncoderOptions extends Pick<ImageTower, 'scale' | 'probability'> {
  readonly pool: Pick<ImagePool, 'numbers'>;
  readonly tower: Pick<TensorModel, 'infer'>;
  readonly preprocessing: Preprocessing;
  /** Pixels of each side of what the tower takes. */
  readonly imageSide: number;
  /** Tokens that it computes for an image. */
  readonly numTokens: number;
  /** Dimensions of a vector. */
  readonly dim: number;
}

export class ImageEncoder implements ImageTower {
  readonly scale: LogitScale;
  readonly probability: ImageTower['probability'];
  readonly #options: ImageEncoderOptions;

  constructor(options: ImageEncoderOptions) {
    this.#options = options;
    this.scale = options.scale;
    this.probability = options.probability;
  }

  readonly embed: Embed<Uint8Array> = async (
    files,
    { dimensions = null, priority = 0 },
    caller,
  ) => {
    requireComputable(caller);
    const { dim, numTokens: perImage } = this.#options;
    if (dimensions !== null) requireDimensions(dimensions, dim, { matryoshkaDimensions: null });
    const numTokens = perImage * files.length;
    const settle = await caller.meter?.charge(numTokens);
    const failed = new AbortController();
    const signal = AbortSignal.any([caller.signal, failed.signal]);
    try {
      const vectors = await Promise.all(
        files.map((file) => this.#vectorOf(file, priority, { ...caller, signal })),
      );
      await settle?.(numTokens);
      return { vectors, numTokens, tokenCounts: files.map(() => perImage) } satisfies Embeddings;
    } catch (error) {
      // Those beside it are computed for nobody.
      failed.abort(error);
      await settle?.(0);
      throw error;
    }
  };

  async #vectorOf(file: Uint8Array, priority: number, caller: Caller): Promise<Float32Array> {
    const { pool, tower, preprocessing, imageSide: side } = this.#options;
    const job = { file, preprocessing, datatype: 'UINT8', transparency: 'on white' } as const;
    const data = await pool.numbers(job, caller);
    const shape = [1, side, side, 3];
    const pixels: TensorValue = { name: 'pixels', datatype: 'UINT8', shape, data };
    const [vector] = await tower.infer([pixels], { priority }, caller);
    return ownVector(vector?.data);
  }
}
