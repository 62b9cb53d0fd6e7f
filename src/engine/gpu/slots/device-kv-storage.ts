import { kvNames } from '../../../model/kv-names.ts';
import type { Allocator } from '../../../ort/allocator.ts';
import { tensorByteLength } from '../../../ort/element-type.ts';
import type { SessionOptions } from '../../../ort/session-options.ts';
import { Tensor } from '../../../ort/tensor.ts';
import { type BlockCopy, BlockCopier } from '../position-copier.ts';
import type { BusTraffic } from '../device-run.ts';
import type { KvShape } from '../../cpu/kv-storage.ts';
import { BLOCK_SIZE } from '../../kv-cache/prefix-index.ts';
import type { Sequence } from '../../sequence.ts';
import type { CacheOperation } from '../../step.ts';

/**
 * The KV cache in device memory: for each layer a key and a value tensor of
 * [rows, kv_heads, capacity, head_dim], allocated as a whole, and copied by graphs on the device.
 *
 * The first rows can be bound as a tensor of their own; others can't, because the address of a WebGPU
 * tensor is a buffer's handle, which has no offset. A run over a single row further up therefore
 * works on a staging row, [1, kv_heads, capacity, head_dim] in each layer: what it needs is loaded
 * into it and what it adds is stored from it.
 */
export class DeviceKvStorage {
  readonly shape: KvShape;
  readonly #allocator: Allocator;
  readonly #copier: BlockCopier;
  /** In the order of `kvNames`. */
  readonly #tensors: readonly Tensor[];
  readonly #staging: readonly Tensor[];
  readonly #moves: BlockCopy;
  readonly #loads: BlockCopy;
  readonly #stores: BlockCopy;
  /** Whose first `length` positions the staging row holds. */
  #staged: { sequence: Sequence; length: number } | null = null;

  /**
   * @param allocator of the memory that the decoder graph wants its cache in; released by the caller
   * @param session how to make the session that copies
   * @throws OrtError or DeviceError when the device has not that much memory
   */
  constructor(shape: KvShape, allocator: Allocator, session: SessionOptions, traffic: BusTraffic) {
    this.shape = shape;
    const names = kvNames('past_key_values', shape.numLayers);
    this.#allocator = allocator;
    this.#tensors = names.map(() => this.#allocate(shape.numRows));
    this.#staging = names.map(() => this.#allocate(1));
    const width = BLOCK_SIZE * shape.headDim;
    this.#copier = new BlockCopier(shape.elementType, names.length, width, session, traffic);
    const rows = { tensors: this.#tensors, numBlocks: shape.numRows * this.#blocksPerRow };
    const staging = { tensors: this.#staging, numBlocks: this.#blocksPerRow };
    this.#moves = this.#copier.between(rows, rows);
    this.#loads = this.#copier.between(rows, staging);
    this.#stores = this.#copier.between(staging, rows);
    // WebGPU hands out memory that it does not have: only a run over all of it tells.
    this.#loads.copy(BigInt64Array.of(0n), BigInt64Array.of(0n));
  }

  /** Rows that fit into a budget, besides the staging row. */
  static rowsWithin(bytes: number, shape: KvShape): number {
    return Math.max(0, Math.floor(bytes / bytesOf(shape, shape.capacity)) - 1);
  }

  /** Memory that a cache takes, the staging row included. */
  static byteLength(shape: KvShape): number {
    return (shape.numRows + 1) * bytesOf(shape, shape.capacity);
  }

  /** Memory that a block of a row takes, in all layers. */
  get bytesPerBlock(): number {
    return bytesOf(this.shape, this.shape.blockSize);
  }

  get #blocksPerHead(): number {
    return this.shape.capacity / BLOCK_SIZE;
  }

  get #blocksPerRow(): number {
    return this.shape.numKvHeads * this.#blocksPerHead;
  }

  #allocate(numRows: number): Tensor {
    const { numKvHeads, capacity, headDim } = this.shape;
    return Tensor.allocate(
      this.shape.elementType,
      [numRows, numKvHeads, capacity, headDim],
      this.#allocator,
    );
  }

  /** The first rows, in the order of `kvNames`. The caller releases the tensors. */
  rows(numRows: number): Tensor[] {
    const { numKvHeads, capacity, headDim } = this.shape;
    const shape = [numRows, numKvHeads, capacity, headDim];
    return this.#tensors.map((whole) => Tensor.overStartOf(this.shape.elementType, shape, whole));
  }

  /** The staging row, as `rows`. */
  staging(): Tensor[] {
    return this.#staging.map((whole) =>
      Tensor.overStartOf(this.shape.elementType, whole.shape, whole),
    );
  }

  /** Makes sure that the staging row holds the first `length` positions of a sequence. */
  load(sequence: Sequence, length: number): void {
    const held = this.#staged?.sequence === sequence ? this.#staged.length : 0;
    this.#staged = null;
    if (held < length) this.#copyBlocks(this.#loads, sequence.row, 0, held, length);
    this.#staged = { sequence, length };
  }

  /**
   * Copies what a run added to the staging row behind what was loaded to the sequence's row.
   * @param end position behind the last one added
   * @param certain positions of these that are the sequence's own, and no guess
   */
  store(sequence: Sequence, end: number, certain = end): void {
    const start = this.#staged?.length ?? 0;
    this.#copyBlocks(this.#stores, 0, sequence.row, start, end);
    this.#staged = { sequence, length: certain };
  }

  /** Carries out what the cache's bookkeeping asks for. */
  apply(operation: CacheOperation): void {
    // Device memory is taken as a whole: there is nothing to give back.
    if (operation.type === 'discard') return;
    this.#copyBlocks(this.#moves, operation.from, operation.to, 0, operation.length);
  }

  /**
   * Copies positions of one row to another in whole blocks: what lies behind `end` in the last block
   * is void in both rows.
   */
  #copyBlocks(copy: BlockCopy, from: number, to: number, start: number, end: number): void {
    const first = Math.floor(start / BLOCK_SIZE);
    const count = Math.ceil(end / BLOCK_SIZE) - first;
    const blocksOf = (row: number): BigInt64Array<ArrayBuffer> => {
      const blocks = new BigInt64Array(this.shape.numKvHeads * count);
      for (let index = 0; index < blocks.length; index++) {
        const head = Math.floor(index / count);
        const inHead = first + (index % count);
        blocks[index] = BigInt(row * this.#blocksPerRow + head * this.#blocksPerHead + inHead);
      }
      return blocks;
    };
    copy.copy(blocksOf(from), blocksOf(to));
  }

  release(): void {
    for (const copy of [this.#moves, this.#loads, this.#stores]) copy.release();
    this.#copier.release();
    for (const tensor of [...this.#tensors, ...this.#staging]) tensor.release();
  }
}

/** Memory that positions of a row take, in all layers. */
function bytesOf(shape: KvShape, numPositions: number): number {
  const { elementType, numLayers, numKvHeads, headDim } = shape;
  return tensorByteLength(elementType, [2 * numLayers, numKvHeads, numPositions, headDim]);
}
