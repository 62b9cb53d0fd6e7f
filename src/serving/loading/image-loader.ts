import { ImageClassifier, ImageConfigError } from '../../front/images/image-classifier.ts';
import type { TensorModel } from '../../front/tensors/tensor-model.ts';
import { type ImageConfig, preprocessingOf } from '../../front/images/image-config.ts';
import type { ImagePool } from '../../front/images/image-pool.ts';
import { NEVER_ABORTED } from '../../front/never-aborted.ts';
import { CONFIG_FILE } from '../../front/registry/repository-config.ts';
import { readBounded } from '../../files/read-bounded.ts';
import { reasonOf } from '../../files/system-error.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { UsageError } from '../../settings/usage-error.ts';

/** An image of one pixel. */
export const DOT = Buffer.from('R0lGODlhAQABAIABAP///wAAACwAAAAAAQABAAACAkQBADs=', 'base64');

/** Makes classifiers of models that take images. */
export class ImageLoader {
  readonly #pool: ImagePool;

  constructor(pool: ImagePool) {
    this.#pool = pool;
  }

  /** @param model started @throws UsageError when the section `image` does not fit it */
  async open(
    model: Pick<TensorModel, 'infer' | 'signature'>,
    config: ImageConfig,
  ): Promise<ImageClassifier> {
    const labels = config.labels === undefined ? [] : await readLabels(config.labels);
    const classifier = classifierOf(model, config, labels, this.#pool);
    // The first image would wait for a thread; and without the decoder all would fail.
    const job = { file: DOT, preprocessing: preprocessingOf(config), datatype: 'FP32' } as const;
    await this.#pool.numbers(job, { client: '', signal: NEVER_ABORTED }).catch((error: unknown) => {
      throw new UsageError(`${CONFIG_FILE}: image: ${reasonOf(error)}`);
    });
    return classifier;
  }
}

function classifierOf(...of: ConstructorParameters<typeof ImageClassifier>): ImageClassifier {
  try {
    return new ImageClassifier(...of);
  } catch (error) {
    if (!(error instanceof ImageConfigError)) throw error;
    throw new UsageError(`${CONFIG_FILE}: image: ${error.message}`);
  }
}

/** A label in each line. @throws UsageError */
async function readLabels(path: string): Promise<readonly string[]> {
  const text = await readBounded(path, MODEL_LIMITS.textFileBytes).catch((error: unknown) => {
    throw new UsageError(`${CONFIG_FILE}: image.labels: ${reasonOf(error)}`);
  });
  return text.toString('utf8').trimEnd().split(/\r?\n/);
}
