import { expertLayers, expertsOf } from '../graph/expert-layers.ts';
import { layerMatrices } from '../graph/layer-matrices.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import {
  inOnePiece,
  piecesOf,
  type StoredIntegers,
  type StoredLayout,
  type WeightSource,
} from '../huggingface/weights.ts';
import { ModelError } from '../model-error.ts';
import { readIntegers } from '../quantize/stored-blocks.ts';
import type { LoraAdapter, LoraPair } from './lora-adapter.ts';

/** A model's weights with an adapter's added to them. */
export class MergedWeights implements WeightSource {
  readonly #base: WeightSource;
  readonly #adapter: LoraAdapter;
  readonly #replaced: ReadonlySet<string>;

  /** @throws {ModelError} if the adapter has tensors for what the model has not */
  constructor(base: WeightSource, adapter: LoraAdapter, config: DecoderConfig) {
    this.#base = base;
    this.#adapter = adapter;
    this.#replaced = new Set(adapter.replacedTensors());
    requireFitting(adapter, config);
  }

  async get(name: string, shape: readonly number[]): Promise<Float32Array> {
    const base = await (this.#adapter.replaced(name, shape) ?? this.#base.get(name, shape));
    const module = moduleOf(name);
    const [rows, columns] = shape;
    if (module === null || rows === undefined || columns === undefined) return base;
    const pair = await this.#adapter.pair(module, [rows, columns]);
    if (pair === null) return base;
    // Not into what another may have got, too.
    const merged = base.slice();
    addProduct(merged, columns, pair);
    const magnitude = await this.#adapter.magnitude(module, rows);
    if (magnitude !== null) scaleRows(merged, columns, magnitude);
    return merged;
  }

  pieces(name: string, shape: readonly number[]): AsyncIterable<Float32Array> {
    return this.#isAdapted(name)
      ? inOnePiece(this, name, shape)
      : piecesOf(this.#base, name, shape);
  }

  typeOf(name: string): string | null {
    const type = this.#base.typeOf?.(name) ?? null;
    return type !== null && this.#isAdapted(name) ? `${type} with an adapter` : type;
  }

  layout(name: string, shape: readonly number[]): StoredLayout | null {
    return this.#isAdapted(name) ? null : (this.#base.layout?.(name, shape) ?? null);
  }

  async integers(
    name: string,
    [rows = 0, columns = 0]: readonly number[],
  ): Promise<StoredIntegers> {
    return readIntegers(this.#base, name, [rows, columns]);
  }

  async close(): Promise<void> {
    await Promise.all([this.#base.close(), this.#adapter.close()]);
  }

  #isAdapted(name: string): boolean {
    return this.#replaced.has(name) || this.#adapter.has(moduleOf(name) ?? '');
  }
}

function moduleOf(name: string): string | null {
  return name.endsWith('.weight') ? name.slice(0, -'.weight'.length) : null;
}

/** @throws {ModelError} if an adapter has tensors for what a model has not */
export function requireFitting(adapter: LoraAdapter, config: DecoderConfig): void {
  const { path } = adapter;
  const { embedding, lmHead } = config.family.tensors;
  const matrices = new Set([embedding, lmHead]);
  for (let layer = 0; layer < config.numLayers; layer++) {
    for (const { tensors } of layerMatrices(config, layer)) {
      for (const { name } of tensors) matrices.add(moduleOf(name) ?? name);
    }
    const experts = expertsOf(config, layer);
    const router = experts && expertLayers(config, experts, layer).router;
    for (const { tensor } of router?.parts ?? []) matrices.add(tensor);
  }
  const replaced = [...adapter.replacedTensors()];
  const others = replaced.filter((name) => !/norm[^.]*\.weight$/.test(name));
  const adapted = [...adapter.modules(), ...others.map((name) => name.replace(/\.\w+$/, ''))];
  const unknown = adapted.find((module) => !matrices.has(module));
  if (unknown !== undefined) {
    throw new ModelError(`${path} adapts "${unknown}", which this model does not have`);
  }
  const end = [embedding, lmHead].find((name) => adapted.includes(name));
  if (config.tieWordEmbeddings && end !== undefined) {
    throw new ModelError(
      `${path} adapts "${end}", and this model's embedding and LM head are one matrix`,
    );
  }
}

/** Adds scaling * B A. */
function addProduct(
  target: Float32Array,
  columns: number,
  { rank, scaling, a, b }: LoraPair,
): void {
  const sums = new Float64Array(columns);
  for (let row = 0; row < target.length / columns; row++) {
    sums.fill(0);
    for (let index = 0; index < rank; index++) {
      const factor = b[row * rank + index] ?? 0;
      const first = index * columns;
      for (let column = 0; column < columns; column++) {
        sums[column] = (sums[column] ?? 0) + factor * (a[first + column] ?? 0);
      }
    }
    for (let column = 0; column < columns; column++) {
      const at = row * columns + column;
      target[at] = (target[at] ?? 0) + scaling * (sums[column] ?? 0);
    }
  }
}

/** Gives each row the length that DoRA says. */
function scaleRows(target: Float32Array, columns: number, lengths: Float32Array): void {
  for (const [row, length] of lengths.entries()) {
    const values = target.subarray(row * columns, (row + 1) * columns);
    const factor = length / Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
    for (let i = 0; i < columns; i++) values[i] = (values[i] ?? 0) * factor;
  }
}
