import { kvNames } from '../../../model/graph/kv-names.ts';
import type { KvHeads } from '../../../model/huggingface/layer-parts.ts';
import type { Allocator } from '../../../ort/allocator.ts';
import type { SessionOptions } from '../../../ort/session-options.ts';
import { Tensor } from '../../../ort/tensor.ts';
import { type PositionCopy, PositionCopier } from '../position-copier.ts';
import type { BusTraffic } from '../device-run.ts';
import { bytesOfPositions, type KvShape, sameHeads } from '../../kv-shape.ts';
import { BLOCK_SIZE } from '../../kv-cache/prefix-index.ts';
import type { Sequence } from '../../sequence.ts';
import type { CacheOperation } from '../../cache-operation.ts';

/**
 * The KV cache in device memory: for each layer a key and a value tensor of
 * [slots, kv_heads, capacity, head_dim], allocated as a whole, and copied by graphs on the device.
 *
 * The first slots can be bound as a tensor of their own; others can't, because the address of a WebGPU
 * tensor is a buffer's handle, which has no offset. A run over a single slot further up therefore
 * works on a staging slot, [1, kv_heads, capacity, head_dim] in each layer: what it needs is loaded
 * into it and what it adds is stored from it.
 */
export class DeviceKvStorage {
  readonly shape: KvShape;
  readonly #allocator: Allocator;
  readonly #copier: PositionCopier;
  /** In the order of `kvNames`. */
  readonly #tensors: readonly Tensor[];
  readonly #staging: readonly Tensor[];
  readonly #moves: PositionCopy;
  readonly #loads: PositionCopy;
  readonly #stores: PositionCopy;
  readonly #heads: KvHeads;
  /** The sequence whose first `length` positions the staging slot holds. */
  #staged: { sequence: Sequence; length: number } | null = null;

  /**
   * @param allocator of the memory that the decoder graph wants its cache in; released by the caller
   * @param session how to make the session that copies
   * @throws OrtError or DeviceError when the device has not that much memory
   */
  constructor(shape: KvShape, allocator: Allocator, session: SessionOptions, traffic: BusTraffic) {
    this.shape = shape;
    this.#heads = sameHeads(shape);
    const names = kvNames('past_key_values', shape.heads.length);
    this.#allocator = allocator;
    this.#tensors = names.map(() => this.#allocate(shape.numSlots));
    this.#staging = names.map(() => this.#allocate(1));
    const width = BLOCK_SIZE * this.#heads.headDim;
    this.#copier = new PositionCopier(shape.elementType, names.length, width, session, traffic);
    const slots = { tensors: this.#tensors, numRows: shape.numSlots * this.#chunksPerSlot };
    const staging = { tensors: this.#staging, numRows: this.#chunksPerSlot };
    this.#moves = this.#copier.between(slots, slots);
    this.#loads = this.#copier.between(slots, staging);
    this.#stores = this.#copier.between(staging, slots);
    // WebGPU allocates memory that it does not have: only a run over all of it shows that.
    this.#loads.copy(BigInt64Array.of(0n), BigInt64Array.of(0n));
  }

  /** Slots that fit into a budget, besides the staging slot. */
  static slotsWithin(bytes: number, shape: KvShape): number {
    return Math.max(0, Math.floor(bytes / bytesOfPositions(shape, shape.capacity)) - 1);
  }

  /** Memory that a cache takes, the staging slot included. */
  static byteLength(shape: KvShape): number {
    return (shape.numSlots + 1) * bytesOfPositions(shape, shape.capacity);
  }

  get #chunksPerHead(): number {
    return this.shape.capacity / BLOCK_SIZE;
  }

  get #chunksPerSlot(): number {
    return this.#heads.numKvHeads * this.#chunksPerHead;
  }

  #allocate(numSlots: number): Tensor {
    const dims = this.#dimsOf(numSlots);
    return Tensor.allocate(this.shape.elementType, dims, this.#allocator);
  }

  #dimsOf(numSlots: number): number[] {
    const { numKvHeads, headDim } = this.#heads;
    return [numSlots, numKvHeads, this.shape.capacity, headDim];
  }

  /** The first slots, in the order of `kvNames`. The caller releases the tensors. */
  firstSlots(numSlots: number): Tensor[] {
    const shape = this.#dimsOf(numSlots);
    return this.#tensors.map((whole) => Tensor.overStartOf(this.shape.elementType, shape, whole));
  }

  /** The staging slot, as `firstSlots`. */
  staging(): Tensor[] {
    return this.#staging.map((whole) =>
      Tensor.overStartOf(this.shape.elementType, whole.shape, whole),
    );
  }

  /** Makes sure that the staging slot holds the first `length` positions of a sequence. */
  load(sequence: Sequence, length: number): void {
    const held = this.#staged?.sequence === sequence ? this.#staged.length : 0;
    this.#staged = null;
    if (held < length) this.#copyChunks(this.#loads, sequence.slot, 0, held, length);
    this.#staged = { sequence, length };
  }

  /**
   * Copies what a run added to the staging slot, after what was loaded, to the sequence's slot.
   * @param end position after the last one added
   * @param certain how many of these positions are the sequence's own tokens and not guesses
   */
  store(sequence: Sequence, end: number, certain = end): void {
    const start = this.#staged?.length ?? 0;
    this.#copyChunks(this.#stores, 0, sequence.slot, start, end);
    this.#staged = { sequence, length: certain };
  }

  /** Carries out what the cache's bookkeeping asks for. */
  apply(operation: CacheOperation): void {
    // Device memory is taken as a whole: there is nothing to give back. And nothing is loaded to devices.
    if (operation.type !== 'copy') return;
    this.#copyChunks(this.#moves, operation.from, operation.to, 0, operation.length);
  }

  /**
   * Copies positions of one slot to another in whole chunks: what lies after `end` in the last chunk
   * is void in both slots.
   */
  #copyChunks(copy: PositionCopy, from: number, to: number, start: number, end: number): void {
    const first = Math.floor(start / BLOCK_SIZE);
    const count = Math.ceil(end / BLOCK_SIZE) - first;
    const chunksOf = (slot: number): BigInt64Array<ArrayBuffer> => {
      const chunks = new BigInt64Array(this.#heads.numKvHeads * count);
      for (let index = 0; index < chunks.length; index++) {
        const head = Math.floor(index / count);
        const inHead = first + (index % count);
        chunks[index] = BigInt(slot * this.#chunksPerSlot + head * this.#chunksPerHead + inHead);
      }
      return chunks;
    };
    copy.copy(chunksOf(from), chunksOf(to));
  }

  release(): void {
    for (const copy of [this.#moves, this.#loads, this.#stores]) copy.release();
    this.#copier.release();
    for (const tensor of [...this.#tensors, ...this.#staging]) tensor.release();
  }
}
