import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { readJson } from '../huggingface/json-file.ts';
import { SafetensorsWeights } from '../huggingface/safetensors.ts';
import { textModelTensor } from '../huggingface/text-config.ts';
import { ModelError } from '../model-error.ts';
import { type AdapterConfig, parseAdapterConfig } from './adapter-config.ts';

export const ADAPTER_CONFIG_FILE = 'adapter_config.json';
export const ADAPTER_WEIGHTS_FILE = 'adapter_model.safetensors';

/** Change of a matrix [out, in] by an adapter: scaling * B A is added, B [out, rank], A [rank, in]. */
export interface LoraPair {
  readonly rank: number;
  readonly scaling: number;
  readonly a: Float32Array;
  readonly b: Float32Array;
}

/** Names of tensors that belong to one module. */
interface ModuleTensors {
  a?: string;
  b?: string;
  embeddingA?: string;
  embeddingB?: string;
  magnitude?: string;
}

/** A suffix of a tensor's name, and what it is; `.default` is the name of the adapter in PEFT. */
const PARTS: readonly (readonly [RegExp, keyof ModuleTensors])[] = [
  [/\.lora_A(?:\.default)?\.weight$/, 'a'],
  [/\.lora_B(?:\.default)?\.weight$/, 'b'],
  [/\.lora_embedding_A(?:\.default)?$/, 'embeddingA'],
  [/\.lora_embedding_B(?:\.default)?$/, 'embeddingB'],
  [/\.lora_magnitude_vector(?:\.default)?(?:\.weight)?$/, 'magnitude'],
];

/** A LoRA adapter as PEFT stores it, open. */
export class LoraAdapter {
  readonly path: string;
  readonly config: AdapterConfig;
  readonly #tensors: SafetensorsWeights;
  readonly #modules: ReadonlyMap<string, ModuleTensors>;
  /** By the names of the model's tensors, those that take their place. */
  readonly #replaced: ReadonlyMap<string, string>;

  private constructor(path: string, config: AdapterConfig, tensors: SafetensorsWeights) {
    this.path = path;
    this.config = config;
    this.#tensors = tensors;
    const modules = new Map<string, ModuleTensors>();
    const replaced = new Map<string, string>();
    for (const stored of tensors.names()) {
      const name = moduleName(stored);
      const part = PARTS.find(([suffix]) => suffix.test(name));
      if (part === undefined) {
        replaced.set(name.replace(/\.(modules_to_save|base_layer|default)(?=\.)/g, ''), stored);
        continue;
      }
      const module = name.replace(part[0], '');
      modules.set(module, { ...modules.get(module), [part[1]]: stored });
    }
    this.#modules = modules;
    this.#replaced = replaced;
  }

  /** @param folder with adapter_config.json and adapter_model.safetensors @throws {ModelError} */
  static async open(folder: string): Promise<LoraAdapter> {
    const path = resolve(folder);
    const [configPath = '', weightsPath = ''] = await adapterFiles(path);
    const config = parseAdapterConfig(await readJson(configPath), configPath);
    return new LoraAdapter(path, config, await SafetensorsWeights.open([weightsPath]));
  }

  /** Modules that a product is added to, named as in the model. */
  modules(): Iterable<string> {
    return this.#modules.keys();
  }

  /** Tensors of the model that the adapter has as a whole. */
  replacedTensors(): Iterable<string> {
    return this.#replaced.keys();
  }

  replaced(name: string, shape: readonly number[]): Promise<Float32Array> | null {
    const stored = this.#replaced.get(name);
    return stored === undefined ? null : this.#tensors.get(stored, shape);
  }

  has(module: string): boolean {
    return this.#modules.has(module);
  }

  /**
   * Loads the change of a module's matrix; null if the adapter leaves it as it is.
   * @throws {ModelError} if it has not that shape
   */
  async pair(module: string, [rows, columns]: readonly [number, number]): Promise<LoraPair | null> {
    const tensors = this.#modules.get(module);
    if (tensors === undefined) return null;
    const { a, b, embeddingA, embeddingB } = tensors;
    if (a !== undefined && b !== undefined) {
      const rank = this.#rank(a);
      return {
        rank,
        scaling: this.config.scaling(module, rank),
        a: await this.#tensors.get(a, [rank, columns]),
        b: await this.#tensors.get(b, [rows, rank]),
      };
    }
    if (embeddingA === undefined || embeddingB === undefined) {
      throw new ModelError(`${this.path}: module "${module}" has only one of its two matrices`);
    }
    // The product for embeddings is transposed: [vocabulary, hidden] = (B A)^T = A^T B^T.
    const rank = this.#rank(embeddingA);
    const turnedA = await this.#tensors.get(embeddingA, [rank, rows]);
    const turnedB = await this.#tensors.get(embeddingB, [columns, rank]);
    return {
      rank,
      scaling: this.config.scaling(module, rank),
      a: turned(turnedB, columns, rank),
      b: turned(turnedA, rank, rows),
    };
  }

  /** DoRA's length of each row; null where the adapter has none. */
  magnitude(module: string, rows: number): Promise<Float32Array> | null {
    const name = this.#modules.get(module)?.magnitude;
    return name === undefined ? null : this.#tensors.get(name, [rows]);
  }

  async close(): Promise<void> {
    await this.#tensors.close();
  }

  #rank(name: string): number {
    return this.#tensors.entry(name)?.shape[0] ?? 0;
  }
}

/** Absolute paths of an adapter's configuration and weights. @throws {ModelError} */
export async function adapterFiles(folder: string): Promise<string[]> {
  const path = resolve(folder);
  const names = await readdir(path).catch((error: unknown) => {
    throw new ModelError(`${path} is not a folder with an adapter`, { cause: error });
  });
  const missing = [ADAPTER_CONFIG_FILE, ADAPTER_WEIGHTS_FILE].find((name) => !names.includes(name));
  if (missing !== undefined) {
    throw new ModelError(`${path} has no ${missing}; supported: LoRA adapters as PEFT stores them`);
  }
  return [join(path, ADAPTER_CONFIG_FILE), join(path, ADAPTER_WEIGHTS_FILE)];
}

/** Module's name, without the prefix that PEFT adds to a tensor's name. */
function moduleName(stored: string): string {
  return textModelTensor(stored.replace(/^base_model\.model\./, ''));
}

function turned(values: Float32Array, rows: number, columns: number): Float32Array {
  return values.map((_, index) => values[(index % rows) * columns + Math.floor(index / rows)] ?? 0);
}
