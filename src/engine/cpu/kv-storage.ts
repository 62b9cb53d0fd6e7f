import type { KvHeads } from '../../model/huggingface/layer-parts.ts';
import type { KvLayers } from '../../model/graph/kv-names.ts';
import { tensorByteLength } from '../../ort/element-type.ts';
import { NativeMemory } from '../../ort/native-memory.ts';
import { Tensor } from '../../ort/tensor.ts';
import { KvJournal } from './kv-journal.ts';
import { bytesOfPositions, type KvShape } from '../kv-shape.ts';
import type { LoadOperation } from '../load-operation.ts';
import { BLOCK_SIZE } from '../kv-cache/prefix-index.ts';
import type { CacheOperation } from '../cache-operation.ts';

type SlotCopy = Extract<CacheOperation, { type: 'copy' }>;
type SlotDiscard = Extract<CacheOperation, { type: 'discard' }>;

/** A layer's tensors of keys and of values, and where they begin. */
interface LayerPlace {
  readonly heads: KvHeads;
  readonly start: number;
  readonly positionBytes: number;
  readonly headBytes: number;
  readonly slotBytes: number;
  /** Bytes of keys, and as many of values after them. */
  readonly tensorBytes: number;
  readonly isWindowed: boolean;
}

/** A head of keys or values in slot 0. */
interface HeadPlace {
  readonly start: number;
  readonly layer: LayerPlace;
}

/**
 * The memory of the KV cache: for each layer a key and a value tensor of
 * [slots, kv_heads, capacity, head_dim]. It is reserved as address space; the operating system
 * commits a page when a token first reaches it, so capacity costs nothing until it is used.
 */
export class KvStorage {
  readonly shape: KvShape;
  readonly #memory: NativeMemory;
  readonly #layers: readonly LayerPlace[];
  readonly #heads: readonly HeadPlace[];

  /** Only of a durable cache. */
  readonly journal: KvJournal | null;

  /** @param descriptor of shared memory of `KvStorage.byteLength`; private memory if null */
  constructor(shape: KvShape, descriptor: number | null = null) {
    this.shape = shape;
    this.#layers = layerPlaces(shape);
    this.#heads = this.#layers.flatMap(headPlaces);
    const kvBytes = kvBytesOf(shape);
    const journalBytes = KvJournal.byteLength(shape.numSlots);
    this.#memory = new NativeMemory(kvBytes + journalBytes, descriptor);
    const journalMemory = this.#memory.view(kvBytes, journalBytes);
    this.journal = descriptor === null ? null : new KvJournal(shape.numSlots, journalMemory);
  }

  /** Address space that a cache takes, journal included. */
  static byteLength(shape: KvShape): number {
    return kvBytesOf(shape) + KvJournal.byteLength(shape.numSlots);
  }

  /**
   * Views of a contiguous range of slots, one tensor per layer and kind, in the order of `kvNames`.
   * The caller releases them, before the storage.
   */
  view(
    firstSlot: number,
    numSlots: number,
    { first, count }: KvLayers = { first: 0, count: this.#layers.length },
  ): Tensor[] {
    const { elementType, capacity } = this.shape;
    return this.#layers
      .slice(first, first + count)
      .flatMap(({ heads: { numKvHeads, headDim }, start, slotBytes, tensorBytes }) => {
        const dims = [numSlots, numKvHeads, capacity, headDim];
        return [start, start + tensorBytes].map((tensor) =>
          Tensor.overNative(elementType, dims, this.#memory, tensor + firstSlot * slotBytes),
        );
      });
  }

  /** Carries out what the cache's bookkeeping asks for. */
  apply(operation: CacheOperation): void {
    if (operation.type === 'copy') this.#copy(operation);
    else if (operation.type === 'load') this.#load(operation);
    else this.#discard(operation);
  }

  /**
   * A copy of the keys and values of positions of a slot, head by head; both numbers are multiples of
   * `BLOCK_SIZE`.
   */
  read(slot: number, start: number, numPositions: number): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(bytesOfPositions(this.shape, numPositions));
    let at = 0;
    for (const head of this.#heads) {
      const length = numPositions * head.layer.positionBytes;
      this.#memory.copyTo(bytes, at, placeOf(head, slot, start), length);
      at += length;
    }
    return bytes;
  }

  #load({ slot, start, blocks }: LoadOperation): void {
    let position = start;
    for (const bytes of blocks) {
      const numPositions = bytes.byteLength / bytesOfPositions(this.shape, 1);
      let at = 0;
      for (const head of this.#heads) {
        const length = numPositions * head.layer.positionBytes;
        this.#memory.copyFrom(bytes, at, placeOf(head, slot, position), length);
        at += length;
      }
      position += numPositions;
    }
  }

  #copy({ from, to, length, windows }: SlotCopy): void {
    // Native kernels have sixteen positions of keys side by side.
    const whole = Math.ceil(length / BLOCK_SIZE) * BLOCK_SIZE;
    for (const head of this.#heads) {
      for (const [start, end] of (head.layer.isWindowed && windows) || [[0, whole]]) {
        const bytes = Math.max(0, Math.min(end, whole) - start) * head.layer.positionBytes;
        this.#memory.copyWithin(placeOf(head, to, start), placeOf(head, from, start), bytes);
      }
    }
  }

  #discard({ slot, start, end, isWindowed: onlyWindowed }: SlotDiscard): void {
    if (start === 0 && !onlyWindowed) {
      for (const { start: tensor, slotBytes, tensorBytes } of this.#layers) {
        this.#memory.discard(tensor + slot * slotBytes, slotBytes);
        this.#memory.discard(tensor + tensorBytes + slot * slotBytes, slotBytes);
      }
      return;
    }
    for (const head of this.#heads) {
      if (onlyWindowed && !head.layer.isWindowed) continue;
      const bytes = (end - start) * head.layer.positionBytes;
      this.#memory.discard(placeOf(head, slot, start), bytes);
    }
  }

  release(): void {
    this.#memory.release();
  }
}

function kvBytesOf(shape: KvShape): number {
  return shape.numSlots * bytesOfPositions(shape, shape.capacity);
}

/** Tensors of layers, one after the other. */
function layerPlaces({
  elementType,
  heads,
  capacity,
  numSlots,
  isWindowed,
}: KvShape): LayerPlace[] {
  let next = 0;
  return heads.map((each, layer) => {
    const positionBytes = tensorByteLength(elementType, [each.headDim]);
    const headBytes = capacity * positionBytes;
    const slotBytes = each.numKvHeads * headBytes;
    const tensorBytes = numSlots * slotBytes;
    const start = next;
    next += 2 * tensorBytes;
    const bytes = { positionBytes, headBytes, slotBytes, tensorBytes };
    return { heads: each, start, ...bytes, isWindowed: isWindowed[layer] ?? false };
  });
}

/** A layer's heads of keys, then those of values. */
function headPlaces(layer: LayerPlace): HeadPlace[] {
  const { heads, start, headBytes, tensorBytes } = layer;
  return [start, start + tensorBytes].flatMap((tensor) =>
    Array.from({ length: heads.numKvHeads }, (_, head) => ({
      start: tensor + head * headBytes,
      layer,
    })),
  );
}

/** Offset of a position of a head, in bytes. */
function placeOf({ start, layer }: HeadPlace, slot: number, position: number): number {
  return start + slot * layer.slotBytes + position * layer.positionBytes;
}
