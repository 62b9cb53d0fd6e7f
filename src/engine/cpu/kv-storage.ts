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

/**
 * The memory of the KV cache: for each layer a key and a value tensor of
 * [slots, kv_heads, capacity, head_dim]. It is reserved as address space; the operating system
 * commits a page when a token first reaches it, so capacity costs nothing until it is used.
 */
export class KvStorage {
  readonly shape: KvShape;
  readonly #memory: NativeMemory;
  readonly #positionBytes: number;
  readonly #headBytes: number;
  readonly #slotBytes: number;
  readonly #tensorBytes: number;

  /** Only of a durable cache. */
  readonly journal: KvJournal | null;

  /** @param descriptor of shared memory of `KvStorage.byteLength`; private memory if null */
  constructor(shape: KvShape, descriptor: number | null = null) {
    this.shape = shape;
    this.#positionBytes = tensorByteLength(shape.elementType, [shape.headDim]);
    this.#headBytes = shape.capacity * this.#positionBytes;
    this.#slotBytes = shape.numKvHeads * this.#headBytes;
    this.#tensorBytes = shape.numSlots * this.#slotBytes;
    const kvBytes = 2 * shape.numLayers * this.#tensorBytes;
    const journalBytes = KvJournal.byteLength(shape.numSlots);
    this.#memory = new NativeMemory(kvBytes + journalBytes, descriptor);
    const journalMemory = this.#memory.view(kvBytes, journalBytes);
    this.journal = descriptor === null ? null : new KvJournal(shape.numSlots, journalMemory);
  }

  /** Address space that a cache takes, journal included. */
  static byteLength(shape: KvShape): number {
    const { elementType, numLayers, numKvHeads, headDim, numSlots, capacity } = shape;
    const dims = [2 * numLayers, numSlots, numKvHeads, capacity, headDim];
    return tensorByteLength(elementType, dims) + KvJournal.byteLength(numSlots);
  }

  /**
   * Views of a contiguous range of slots, one tensor per layer and kind, in the order of `kvNames`.
   * The caller releases them, before the storage.
   */
  view(
    firstSlot: number,
    numSlots: number,
    { first, count }: KvLayers = { first: 0, count: this.shape.numLayers },
  ): Tensor[] {
    const { elementType, numKvHeads, capacity, headDim } = this.shape;
    return Array.from({ length: 2 * count }, (_, index) =>
      Tensor.overNative(
        elementType,
        [numSlots, numKvHeads, capacity, headDim],
        this.#memory,
        (2 * first + index) * this.#tensorBytes + firstSlot * this.#slotBytes,
      ),
    );
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
    const length = numPositions * this.#positionBytes;
    let at = 0;
    this.#forEachHead((base) => {
      const offset = base + slot * this.#slotBytes + start * this.#positionBytes;
      this.#memory.copyTo(bytes, at, offset, length);
      at += length;
    });
    return bytes;
  }

  #load({ slot, start, blocks }: LoadOperation): void {
    let position = start;
    for (const bytes of blocks) {
      const length = bytes.byteLength / (2 * this.shape.numLayers * this.shape.numKvHeads);
      let at = 0;
      this.#forEachHead((base) => {
        const offset = base + slot * this.#slotBytes + position * this.#positionBytes;
        this.#memory.copyFrom(bytes, at, offset, length);
        at += length;
      });
      position += length / this.#positionBytes;
    }
  }

  #copy({ from, to, length, windows }: SlotCopy): void {
    // Native kernels have sixteen positions of keys side by side.
    const whole = Math.ceil(length / BLOCK_SIZE) * BLOCK_SIZE;
    this.#forEachHead((base, isWindowed) => {
      for (const [start, end] of (isWindowed && windows) || [[0, whole]]) {
        const offset = base + start * this.#positionBytes;
        const bytes = Math.max(0, Math.min(end, whole) - start) * this.#positionBytes;
        this.#memory.copyWithin(
          offset + to * this.#slotBytes,
          offset + from * this.#slotBytes,
          bytes,
        );
      }
    });
  }

  #discard({ slot, start, end, isWindowed: onlyWindowed }: SlotDiscard): void {
    if (start === 0 && !onlyWindowed) {
      for (let index = 0; index < 2 * this.shape.numLayers; index++) {
        this.#memory.discard(index * this.#tensorBytes + slot * this.#slotBytes, this.#slotBytes);
      }
      return;
    }
    const bytes = (end - start) * this.#positionBytes;
    this.#forEachHead((base, isWindowed) => {
      if (onlyWindowed && !isWindowed) return;
      const offset = base + slot * this.#slotBytes + start * this.#positionBytes;
      this.#memory.discard(offset, bytes);
    });
  }

  /** Calls back with the offset, in slot 0, of every head of every tensor, and whether its layer has a window. */
  #forEachHead(visit: (byteOffset: number, isWindowed: boolean) => void): void {
    for (let index = 0; index < 2 * this.shape.numLayers; index++) {
      const isWindowed = this.shape.isWindowed[index >> 1] ?? false;
      for (let head = 0; head < this.shape.numKvHeads; head++) {
        visit(index * this.#tensorBytes + head * this.#headBytes, isWindowed);
      }
    }
  }

  release(): void {
    this.#memory.release();
  }
}
