import type { DecoderConfig } from '../huggingface/config.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { ModelError } from '../model-error.ts';
import type { Architecture } from './architectures.ts';
import { GgufFile } from './gguf-file.ts';
import { type TensorPlace, tensorPlaces } from './tensor-names.ts';

/** The tensors of a GGUF model by the names and in the form that they have in safetensors. */
export class GgufWeights implements WeightSource {
  readonly #file: GgufFile;
  readonly #config: DecoderConfig;
  readonly #pairsRows: boolean;
  readonly #places: ReadonlyMap<string, TensorPlace>;

  constructor(file: GgufFile, config: DecoderConfig, { pairsRows }: Architecture) {
    this.#file = file;
    this.#config = config;
    this.#pairsRows = pairsRows;
    this.#places = tensorPlaces(config);
  }

  async get(name: string, shape: readonly number[]): Promise<Float32Array> {
    const dot = name.lastIndexOf('.');
    const place = this.#places.get(name.slice(0, dot));
    const stored = place && place.name + name.slice(dot);
    const tensor = stored && this.#file.tensor(stored);
    const [path = ''] = this.#file.paths;
    if (place === undefined || stored === undefined || !tensor) {
      throw new ModelError(`${path} has no tensor "${stored ?? name}"`);
    }
    if (tensor.shape.join() !== shape.join()) {
      throw new ModelError(
        `${path}: tensor "${stored}" has shape [${tensor.shape.join(', ')}], ` +
          `expected [${shape.join(', ')}]`,
      );
    }
    const values = await this.#file.read(stored);
    const { family, headDim } = this.#config;
    if (place.kind === 'heads' && this.#pairsRows) {
      return withHalves(values, values.length / (shape[0] ?? 1), headDim);
    }
    // Norms that multiply by 1 plus their weight have the sum in the file.
    return place.kind === 'norm' && family.normsAddOne ? values.map((value) => value - 1) : values;
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

/** Rows of each head in halves whose rows turn together, instead of pairs. */
function withHalves(paired: Float32Array, columns: number, headDim: number): Float32Array {
  const values = new Float32Array(paired.length);
  for (let row = 0; row < paired.length / columns; row++) {
    const within = row % headDim;
    const target = row - within + (within % 2) * (headDim / 2) + (within >> 1);
    values.set(paired.subarray(row * columns, (row + 1) * columns), target * columns);
  }
  return values;
}
