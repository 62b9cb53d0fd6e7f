import { GgufFile } from '../gguf/gguf-file.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { CONNECTOR, LAYERS, TOWER } from './tensor-names.ts';
import type { TileShape } from './vision-config.ts';

/** Names in the file by names in safetensors, without `.weight` and `.bias`. */
const NAMES: Readonly<Record<string, string>> = {
  [`${TOWER}.embeddings.patch_embedding`]: 'v.patch_embd',
  [`${TOWER}.embeddings.position_embedding`]: 'v.position_embd',
  [`${TOWER}.post_layernorm`]: 'v.post_ln',
  [CONNECTOR]: 'mm.model.fc',
};

/** The same in a layer. */
const LAYER_NAMES: Readonly<Record<string, string>> = {
  layer_norm1: 'ln1',
  'self_attn.q_proj': 'attn_q',
  'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v',
  'self_attn.out_proj': 'attn_out',
  layer_norm2: 'ln2',
  'mlp.fc1': 'ffn_up',
  'mlp.fc2': 'ffn_down',
};

/** Files of older converters have the feed-forward layers' names the other way round. */
const REVERSED: Readonly<Record<string, string>> = {
  ...LAYER_NAMES,
  'mlp.fc1': 'ffn_down',
  'mlp.fc2': 'ffn_up',
};

/** The tensors of an mmproj file by the names that they have in safetensors. */
export class MmprojWeights implements WeightSource {
  readonly #file: GgufFile;
  readonly #ofLayer: Readonly<Record<string, string>>;

  private constructor(file: GgufFile, { tower }: TileShape) {
    this.#file = file;
    const [rows] = file.tensor('v.blk.0.ffn_down.weight')?.shape ?? [];
    const { hiddenSize, intermediateSize } = tower;
    const isReversed = rows === intermediateSize && rows !== hiddenSize;
    this.#ofLayer = isReversed ? REVERSED : LAYER_NAMES;
  }

  /** @throws {ModelError} if the file is missing or damaged */
  static async open(path: string, shape: TileShape): Promise<MmprojWeights> {
    return new MmprojWeights(await GgufFile.open(path), shape);
  }

  async get(name: string, shape: readonly number[]): Promise<Float32Array> {
    const stored = this.#stored(name);
    this.#file.requireShape(stored, shape);
    return this.#file.read(stored);
  }

  async close(): Promise<void> {
    await this.#file.close();
  }

  #stored(name: string): string {
    const dot = name.lastIndexOf('.');
    const [tensor, part] = [name.slice(0, dot), name.slice(dot)];
    if (!tensor.startsWith(LAYERS)) return `${NAMES[tensor]}${part}`;
    const [layer = '', ...within] = tensor.slice(LAYERS.length).split('.');
    return `v.blk.${layer}.${this.#ofLayer[within.join('.')]}${part}`;
  }
}
