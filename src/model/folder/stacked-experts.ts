import { E2M1_BLOCK, mxfp4Values } from '../quantized/mxfp4.ts';
import { transposeInto } from '../huggingface/transpose.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { StackedExperts } from '../families/expert-rules.ts';
import { requireFinite } from '../huggingface/finite.ts';
import type { SafetensorsWeights } from '../huggingface/safetensors.ts';
import type { StoredIntegers, StoredLayout, WeightSource } from '../huggingface/weights.ts';

/** One expert's matrix or bias. */
interface ExpertTensor {
  readonly layer: string;
  readonly expert: number;
  readonly kind: 'gate' | 'up' | 'down';
  readonly isBias: boolean;
}

/**
 * A checkpoint that has the matrices of all of a layer's experts in one tensor: each by itself, in the
 * form of a linear layer's. Only what belongs to an expert is read.
 */
export class StackedWeights implements WeightSource {
  readonly #stored: SafetensorsWeights;
  readonly #others: WeightSource;
  readonly #stacked: StackedExperts;
  readonly #numExperts: number;
  readonly #patterns: readonly (readonly [ExpertTensor['kind'], RegExp])[];

  /** @param others everything else; closed with the result */
  constructor(
    stored: SafetensorsWeights,
    others: WeightSource,
    { family, experts }: DecoderConfig,
    stacked: StackedExperts,
  ) {
    this.#stored = stored;
    this.#others = others;
    this.#stacked = stacked;
    this.#numExperts = experts?.count ?? 0;
    const names = family.tensors.layer.experts;
    this.#patterns = (['gate', 'up', 'down'] as const).map((kind) => {
      const [before = '', after = ''] = (names?.[kind] ?? '').split('*').map(escaped);
      const prefix = escaped(family.tensors.layerPrefix);
      return [kind, new RegExp(`^(${prefix}\\.\\d+)\\.${before}(\\d+)${after}\\.(weight|bias)$`)];
    });
  }

  async get(name: string, shape: readonly number[]): Promise<Float32Array> {
    const found = this.#find(name);
    if (found === null) return this.#others.get(name, shape);
    const [rows = 0, columns = 1] = shape;
    return found.isBias ? this.#bias(found, rows) : this.#matrix(found, rows, columns);
  }

  typeOf(name: string): string | null {
    const found = this.#find(name);
    if (found === null) return this.#others.typeOf?.(name) ?? null;
    const { gateUp, down } = this.#stacked;
    const stored = `${found.layer}.${found.kind === 'down' ? down : gateUp}`;
    return this.#stored.typeOf(stored) ?? (this.#stored.has(`${stored}_blocks`) ? 'MXFP4' : null);
  }

  layout(name: string, shape: readonly number[]): StoredLayout | null {
    return this.#find(name) === null ? (this.#others.layout?.(name, shape) ?? null) : null;
  }

  async integers(name: string, shape: readonly number[]): Promise<StoredIntegers> {
    const stored = await this.#others.integers?.(name, shape);
    if (stored === undefined) throw new TypeError(`tensor "${name}" is not stored in integers`);
    return stored;
  }

  async close(): Promise<void> {
    await this.#others.close();
  }

  #find(name: string): ExpertTensor | null {
    // Some checkpoints of a family have their experts apart all the same.
    if (this.#others.typeOf?.(name)) return null;
    for (const [kind, pattern] of this.#patterns) {
      const [, layer, expert, suffix] = pattern.exec(name) ?? [];
      if (layer === undefined) continue;
      return { layer, expert: Number(expert), kind, isBias: suffix === 'bias' };
    }
    return null;
  }

  async #bias({ layer, expert, kind }: ExpertTensor, rows: number): Promise<Float32Array> {
    const { gateUpBias, downBias } = this.#stacked;
    const name = `${layer}.${kind === 'down' ? downBias : gateUpBias}`;
    const width = kind === 'down' ? rows : 2 * rows;
    const values = await this.#stored.part(name, [this.#numExperts, width], expert);
    return kind === 'down' ? values : everySecondRow(values, 1, kind);
  }

  async #matrix(
    { layer, expert, kind }: ExpertTensor,
    rows: number,
    columns: number,
  ): Promise<Float32Array> {
    const { gateUp, down, order } = this.#stacked;
    const name = `${layer}.${kind === 'down' ? down : gateUp}`;
    const height = kind === 'down' ? rows : 2 * rows;
    const rowsShape = [this.#numExperts, height, columns];
    const isInRows =
      order === 'rows, gates first' ||
      (order === 'either, gates first' &&
        this.#stored.entry(name)?.shape.join() === rowsShape.join());
    const values = isInRows
      ? await this.#stored.part(name, rowsShape, expert)
      : await this.#transposed(name, expert, height, columns);
    if (order === 'columns, alternating' && kind !== 'down') {
      return everySecondRow(values, columns, kind);
    }
    const first = kind === 'up' ? rows * columns : 0;
    return values.subarray(first, first + rows * columns);
  }

  /** [height, columns] of what is stored as [columns, height], but in MXFP4. */
  async #transposed(
    name: string,
    expert: number,
    height: number,
    columns: number,
  ): Promise<Float32Array> {
    const stored = this.#stored;
    if (stored.has(`${name}_blocks`)) {
      const blocks = [this.#numExperts, height, columns / E2M1_BLOCK];
      const [packed, exponents] = await Promise.all([
        stored.bytesOfPart(`${name}_blocks`, [...blocks, E2M1_BLOCK / 2], expert),
        stored.bytesOfPart(`${name}_scales`, blocks, expert),
      ]);
      const values = mxfp4Values(packed, exponents);
      const shape = [this.#numExperts, height, columns];
      const first = expert * height * columns;
      requireFinite(values, { what: stored.describe(`${name}_blocks`), shape, first });
      return values;
    }
    const transposed = await stored.part(name, [this.#numExperts, columns, height], expert);
    const values = new Float32Array(transposed.length);
    transposeInto(transposed, columns, height, values, columns, 0);
    return values;
  }
}

/** Rows of one kind, where rows of gates and ups alternate. */
function everySecondRow(values: Float32Array, columns: number, kind: 'gate' | 'up'): Float32Array {
  const first = kind === 'gate' ? 0 : 1;
  const picked = new Float32Array(values.length / 2);
  for (let row = 0; row < picked.length / columns; row++) {
    const start = (2 * row + first) * columns;
    picked.set(values.subarray(start, start + columns), row * columns);
  }
  return picked;
}

function escaped(text: string): string {
  return text.replaceAll('.', String.raw`\.`);
}
