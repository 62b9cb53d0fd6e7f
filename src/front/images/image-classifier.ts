/** An image classifier: a model of tensors, with what makes its input of a file and labels of its output. */
import type { TensorSpec } from '../../encoder/tensors/signature.ts';
import { TensorError } from '../../encoder/tensors/signature.ts';
import type { NumberValue, TensorValue } from '../../encoder/tensors/tensor.ts';
import { float16ToFloat32 } from '../../model/huggingface/float-conversion.ts';
import type { Preprocessing } from '../../images/preprocess.ts';
import type { Caller } from '../caller.ts';
import { type ImageConfig, inputSizeOf, preprocessingOf } from './image-config.ts';
import { IMAGE_TYPES, type ImageType } from './image-job.ts';
import type { ImagePool } from './image-pool.ts';
import type { InferOptions, TensorModel } from '../tensors/tensor-model.ts';
import { activated } from '../embedding/vectors.ts';

export interface ImageClass {
  readonly label: string;
  readonly score: number;
}

export interface ClassifyOptions extends Pick<InferOptions, 'priority' | 'timeoutMs'> {
  /** Classes that are wanted; the model's own number if null or left out. */
  readonly topK?: number | null;
  readonly function?: ImageConfig['function_to_apply'] | null;
}

/** The section `image` does not fit the model; the message is for the operator. */
export class ImageConfigError extends Error {
  override readonly name = 'ImageConfigError';
}

export class ImageClassifier {
  /** Name of the input that takes images. */
  readonly input: string;
  readonly #model: Pick<TensorModel, 'infer'>;
  readonly #config: ImageConfig;
  readonly #preprocessing: Preprocessing;
  readonly #labels: readonly string[];
  readonly #pool: ImagePool;
  readonly #datatype: ImageType;
  readonly #shape: readonly number[];
  readonly #output: string;

  /**
   * @param model started
   * @param labels of the classes; empty for numbers
   * @throws ImageConfigError when the model takes or gives something else
   */
  constructor(
    model: Pick<TensorModel, 'infer' | 'signature'>,
    config: ImageConfig,
    labels: readonly string[],
    pool: ImagePool,
  ) {
    const { inputs, outputs } = model.signature;
    const [input, another] = inputs;
    if (input === undefined || another !== undefined) {
      throw new ImageConfigError(`the model has ${inputs.length} inputs, and not one`);
    }
    const output = outputs.find(
      ({ name }) => config.output === undefined || name === config.output,
    );
    if (output === undefined) {
      throw new ImageConfigError(`the model has no output "${config.output ?? ''}"`);
    }
    this.input = input.name;
    this.#model = model;
    this.#config = config;
    this.#preprocessing = preprocessingOf(config);
    this.#labels = labels;
    this.#pool = pool;
    this.#shape = shapeOf(input, config);
    this.#datatype = typeOf(input);
    this.#output = output.name;
    requireClasses(output, labels);
  }

  /**
   * The likeliest classes of an image, the best first.
   * @throws ImageError; as ImagePool.numbers and TensorModel.infer
   */
  async classify(
    file: Uint8Array,
    { topK = null, function: apply = null, ...options }: ClassifyOptions,
    caller: Caller,
  ): Promise<readonly ImageClass[]> {
    const job = { file, preprocessing: this.#preprocessing, datatype: this.#datatype };
    const data = await this.#pool.numbers(job, caller);
    const tensor: TensorValue = {
      name: this.input,
      datatype: this.#datatype,
      shape: this.#shape,
      data,
    };
    const wanted = { ...options, outputs: [this.#output] };
    const [made] = await this.#model.infer([tensor], wanted, caller);
    const { function_to_apply: usual, top_k: usualTop } = this.#config;
    const activation = apply ?? usual;
    const scores = activated(numbersOf(made), activation === 'none' ? 'identity' : activation);
    return Array.from(scores, (score, index) => ({ label: this.#labelOf(index), score }))
      .sort((a, b) => b.score - a.score)
      .slice(0, topK ?? usualTop);
  }

  /** As Transformers names classes without names. */
  #labelOf(index: number): string {
    return this.#labels[index] ?? `LABEL_${index}`;
  }
}

/** @throws ImageConfigError */
function shapeOf({ name, shape }: TensorSpec, config: ImageConfig): readonly number[] {
  const { width = 0, height = 0 } = inputSizeOf(config) ?? {};
  const made = config.layout === 'NCHW' ? [1, 3, height, width] : [1, height, width, 3];
  const fits =
    shape.length === made.length &&
    shape.every((size, at) => typeof size === 'string' || size === made[at]);
  if (fits) return made;
  const found = shape.map((size) => (size === '' ? '?' : size)).join(', ');
  throw new ImageConfigError(
    `images become [${made.join(', ')}] (${config.layout}), and the model's input "${name}" is [${found}]`,
  );
}

/** @throws ImageConfigError */
function typeOf({ name, datatype }: TensorSpec): ImageType {
  const found = IMAGE_TYPES.find((type) => type === datatype);
  if (found !== undefined) return found;
  const known = IMAGE_TYPES.join(', ');
  throw new ImageConfigError(`the model's input "${name}" is ${datatype}, and not one of ${known}`);
}

/** @throws ImageConfigError */
function requireClasses({ name, datatype, shape }: TensorSpec, labels: readonly string[]): void {
  if (!['FP32', 'FP16', 'FP64'].includes(datatype)) {
    throw new ImageConfigError(`the model's output "${name}" is ${datatype}, and no floats`);
  }
  const classes = shape.at(-1);
  if (labels.length > 0 && typeof classes === 'number' && classes !== labels.length) {
    throw new ImageConfigError(
      `there are ${labels.length} labels, and the model's output "${name}" has ${classes} classes`,
    );
  }
}

function numbersOf(tensor: TensorValue | undefined): Float64Array {
  if (tensor === undefined || tensor.datatype === 'BYTES') {
    throw new TensorError('the model gave no scores');
  }
  const { data }: NumberValue = tensor;
  if (!(data instanceof Uint16Array)) return Float64Array.from(data, Number);
  const numbers = new Float32Array(data.length);
  float16ToFloat32(data, numbers);
  return Float64Array.from(numbers);
}
