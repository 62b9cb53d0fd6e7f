import { GgufFile } from '../gguf/gguf-file.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import type { MmprojNames } from './mmproj-names.ts';

/** Width of a tower's layers, and between the two of their feed-forward part. */
export interface LayerWidths {
  readonly hiddenSize: number;
  readonly intermediateSize: number;
}

/** Files of older converters have the feed-forward layers' names the other way round. */
const REVERSED: Readonly<Record<string, string>> = { ffn_up: 'ffn_down', ffn_down: 'ffn_up' };

/** The tensors of an mmproj file by the names that they have in safetensors. */
export class MmprojWeights implements WeightSource {
  readonly #file: GgufFile;
  readonly #names: MmprojNames;
  readonly #isReversed: boolean;

  private constructor(file: GgufFile, names: MmprojNames, widths: LayerWidths) {
    this.#file = file;
    this.#names = names;
    const [rows] = file.tensor('v.blk.0.ffn_down.weight')?.shape ?? [];
    const { hiddenSize, intermediateSize } = widths;
    this.#isReversed = rows === intermediateSize && rows !== hiddenSize;
  }

  /** @throws {ModelError} if the file is missing or damaged */
  static async open(path: string, names: MmprojNames, widths: LayerWidths): Promise<MmprojWeights> {
    return new MmprojWeights(await GgufFile.open(path), names, widths);
  }

  async get(name: string, shape: readonly number[]): Promise<Float32Array> {
    return this.read(this.#stored(name), shape);
  }

  /** Whether the file has a tensor, by its name in safetensors. */
  has(name: string): boolean {
    return this.#file.tensor(this.#stored(name)) !== undefined;
  }

  /** As `get`, by its name in the file. */
  async read(stored: string, shape: readonly number[]): Promise<Float32Array> {
    this.#file.requireShape(stored, shape);
    return this.#file.read(stored);
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  #stored(name: string): string {
    const { tensors, layers, ofLayer } = this.#names;
    const whole = tensors[name];
    if (whole !== undefined) return whole;
    const dot = name.lastIndexOf('.');
    const [tensor, part] = [name.slice(0, dot), name.slice(dot)];
    if (!tensor.startsWith(layers)) return `${tensors[tensor]}${part}`;
    const [layer = '', ...within] = tensor.slice(layers.length).split('.');
    const named = ofLayer[within.join('.')] ?? '';
    return `v.blk.${layer}.${(this.#isReversed && REVERSED[named]) || named}${part}`;
  }
}
