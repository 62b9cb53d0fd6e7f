import type { DecoderManifest } from '../../model/manifest.ts';
import { tensorByteLength } from '../../ort/element-type.ts';
import { NativeMemory, PAGE_BYTES } from '../../ort/native-memory.ts';
import { Tensor } from '../../ort/tensor.ts';
import { KvJournal } from './kv-journal.ts';
import { BLOCK_SIZE } from '../kv-cache/prefix-index.ts';
import type { CacheOperation } from '../step.ts';

export interface KvShape {
  readonly elementType: 'float' | 'float16' | 'int8';
  readonly numLayers: number;
  readonly numKvHeads: number;
  readonly headDim: number;
  readonly numRows: number;
  /** Positions per row: whole blocks, so that every head begins at a page boundary. */
  readonly capacity: number;
  /** Positions of a row that are given memory together: whole pages of every head. */
  readonly blockSize: number;
}

/** The KV cache's shape for a model; a row has at least `maxModelLen` positions. */
export function kvShape(
  { numLayers, numKvHeads, headDim, kvCacheDtype }: DecoderManifest,
  numRows: number,
  maxModelLen: number,
): KvShape {
  const elementType = kvCacheDtype === 'float32' ? 'float' : kvCacheDtype;
  let blockSize = BLOCK_SIZE;
  while (tensorByteLength(elementType, [blockSize, headDim]) % PAGE_BYTES !== 0) blockSize *= 2;
  const capacity = Math.ceil(maxModelLen / blockSize) * blockSize;
  return { elementType, numLayers, numKvHeads, headDim, numRows, capacity, blockSize };
}

/**
 * The memory of the KV cache: for each layer a key and a value tensor of
 * [rows, kv_heads, capacity, head_dim]. It is reserved as address space; the operating system
 * commits a page when a token first reaches it, so capacity costs nothing until it is used.
 */
export class KvStorage {
  readonly shape: KvShape;
  readonly #memory: NativeMemory;
  readonly #positionBytes: number;
  readonly #headBytes: number;
  readonly #rowBytes: number;
  readonly #tensorBytes: number;

  /** Only of a durable cache. */
  readonly journal: KvJournal | null;

  /** @param descriptor of shared memory of `KvStorage.byteLength`; private memory if null */
  constructor(shape: KvShape, descriptor: number | null = null) {
    this.shape = shape;
    this.#positionBytes = tensorByteLength(shape.elementType, [shape.headDim]);
    this.#headBytes = shape.capacity * this.#positionBytes;
    this.#rowBytes = shape.numKvHeads * this.#headBytes;
    this.#tensorBytes = shape.numRows * this.#rowBytes;
    const kvBytes = 2 * shape.numLayers * this.#tensorBytes;
    const journalBytes = KvJournal.byteLength(shape.numRows);
    this.#memory = new NativeMemory(kvBytes + journalBytes, descriptor);
    const journalMemory = this.#memory.view(kvBytes, journalBytes);
    this.journal = descriptor === null ? null : new KvJournal(shape.numRows, journalMemory);
  }

  /** Address space that a cache takes, journal included. */
  static byteLength(shape: KvShape): number {
    const { elementType, numLayers, numKvHeads, headDim, numRows, capacity } = shape;
    const dims = [2 * numLayers, numRows, numKvHeads, capacity, headDim];
    return tensorByteLength(elementType, dims) + KvJournal.byteLength(numRows);
  }

  /** Physical memory that a block of a row takes, in all layers. */
  get bytesPerBlock(): number {
    const { numLayers, numKvHeads, blockSize } = this.shape;
    return 2 * numLayers * numKvHeads * blockSize * this.#positionBytes;
  }

  /**
   * Views of a contiguous range of rows, one tensor per layer and kind, in the order of `kvNames`.
   * The caller releases them, before the storage.
   */
  view(firstRow: number, numRows: number): Tensor[] {
    const { elementType, numLayers, numKvHeads, capacity, headDim } = this.shape;
    return Array.from({ length: 2 * numLayers }, (_, index) =>
      Tensor.overNative(
        elementType,
        [numRows, numKvHeads, capacity, headDim],
        this.#memory,
        index * this.#tensorBytes + firstRow * this.#rowBytes,
      ),
    );
  }

  /** Carries out what the cache's bookkeeping asks for. */
  apply(operation: CacheOperation): void {
    if (operation.type === 'copy') this.#copy(operation.from, operation.to, operation.length);
    else this.#discard(operation.row, operation.start, operation.end);
  }

  #copy(from: number, to: number, length: number): void {
    const bytes = length * this.#positionBytes;
    this.#forEachHead((base) => {
      this.#memory.copyWithin(base + to * this.#rowBytes, base + from * this.#rowBytes, bytes);
    });
  }

  #discard(row: number, start: number, end: number): void {
    if (start === 0) {
      for (let index = 0; index < 2 * this.shape.numLayers; index++) {
        this.#memory.discard(index * this.#tensorBytes + row * this.#rowBytes, this.#rowBytes);
      }
      return;
    }
    const bytes = (end - start) * this.#positionBytes;
    this.#forEachHead((base) => {
      const offset = base + row * this.#rowBytes + start * this.#positionBytes;
      this.#memory.discard(offset, bytes);
    });
  }

  /** Calls back with the offset, in row 0, of every head of every tensor. */
  #forEachHead(visit: (byteOffset: number) => void): void {
    for (let index = 0; index < 2 * this.shape.numLayers; index++) {
      for (let head = 0; head < this.shape.numKvHeads; head++) {
        visit(index * this.#tensorBytes + head * this.#headBytes);
      }
    }
  }

  release(): void {
    this.#memory.release();
  }
}
