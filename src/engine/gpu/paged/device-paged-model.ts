import { kvNames } from '../../../model/graph/kv-names.ts';
import type { BuiltModel, DecoderManifest } from '../../../model/manifest.ts';
import { Allocator } from '../../../ort/allocator.ts';
import { MemoryInfo } from '../../../ort/memory-info.ts';
import { Session } from '../../../ort/session.ts';
import type { SessionOptions } from '../../../ort/session-options.ts';
import { Tensor } from '../../../ort/tensor.ts';
import { type PositionCopy, PositionCopier } from '../position-copier.ts';
import { type DeviceName, type DeviceOptions, executionProviders } from '../device-options.ts';
import { type BusTraffic, DeviceRun } from '../device-run.ts';
import type { PagedBatch } from './paged-batch.ts';
import type { PageMove, PagedModel } from './paged-decoder.ts';
import { DeviceTopK } from '../device-top-k.ts';
import type { Segment, SegmentLogits } from '../../step.ts';

export interface DevicePagedOptions {
  readonly device: DeviceOptions;
  readonly numPages: number;
  /** Positions per page. */
  readonly pageLength: number;
  /** Most logits that one run is asked for. */
  readonly numLogits: number;
  readonly session?: SessionOptions;
}

const TYPE = 'float16';
const BYTES_PER_ELEMENT = 2;

/** The paged decoder graph on a device, with pages and logits in the device's memory. */
export class DevicePagedModel implements PagedModel {
  readonly pageLength: number;
  readonly vocabSize: number;
  readonly traffic: BusTraffic = { bytesUp: 0, bytesDown: 0 };
  readonly #session: Session;
  readonly #allocator: Allocator;
  /** [pages, block_size, kv_heads, head_dim] each, in the order of `kvNames`. */
  readonly #cache: readonly Tensor[];
  readonly #logits: Tensor;
  readonly #topK: DeviceTopK;
  readonly #run: DeviceRun;
  readonly #copier: PositionCopier;
  readonly #copy: PositionCopy;
  /** Views of the logits, by number. */
  readonly #views = new Map<number, Tensor>();

  /**
   * @throws OrtError or DeviceError when the graph can't be loaded or the device lacks memory; Error
   *   when the model was built in float32
   */
  constructor({ pagedGraphPath, manifest }: BuiltModel, options: DevicePagedOptions) {
    if (pagedGraphPath === null) {
      throw new Error('PagedAttention takes float16, and the model was built in float32');
    }
    const { device, numPages, pageLength, numLogits } = options;
    const { numLayers, numKvHeads, headDim, vocabSize } = manifest;
    const session = { ...options.session, providers: executionProviders(device) };
    this.pageLength = pageLength;
    this.vocabSize = vocabSize;
    this.#session = new Session(pagedGraphPath, session);
    const pastNames = kvNames('past_key_values', numLayers);
    const presentNames = kvNames('present', numLayers);
    const memory = MemoryInfo.ofInput(this.#session, pastNames[0] ?? '');
    this.#allocator = new Allocator(this.#session, memory);
    const shape = [numPages, pageLength, numKvHeads, headDim];
    this.#cache = pastNames.map(() => Tensor.allocate(TYPE, shape, this.#allocator));
    this.#logits = Tensor.allocate('float', [numLogits, vocabSize], this.#allocator);
    this.#topK = new DeviceTopK(this.#logits, session, this.traffic);
    this.#run = new DeviceRun(this.#session, this.traffic);
    for (const [index, tensor] of this.#cache.entries()) {
      this.#run.bindInput(pastNames[index] ?? '', tensor);
      this.#run.bindOutput(presentNames[index] ?? '', tensor);
    }
    const width = pageLength * numKvHeads * headDim;
    const pages = { tensors: this.#cache, numRows: numPages };
    this.#copier = new PositionCopier(TYPE, this.#cache.length, width, session, this.traffic);
    this.#copy = this.#copier.between(pages, pages);
    // WebGPU allocates memory that it does not have: only a run over all of it shows that.
    this.copyPages([{ from: 0, to: 0 }]);
  }

  run(batch: PagedBatch): void {
    const numSequences = batch.pastLengths.length;
    const numWanted = batch.logitsIndex.length;
    const ids = BigInt64Array.from(batch.tokenIds, BigInt);
    const wanted = BigInt64Array.from(batch.logitsIndex, BigInt);
    const bounds = Int32Array.of(batch.maxQueryLength, batch.maxTotalLength);
    const table = [numSequences, batch.tableWidth];
    const run = this.#run;
    run.upload('input_ids', 'int64', [ids.length], ids);
    run.upload('cumulative_sequence_length', 'int32', [numSequences + 1], batch.cumulativeLengths);
    run.upload('past_seqlens', 'int32', [numSequences], batch.pastLengths);
    run.upload('block_table', 'int32', table, batch.pageTable);
    run.upload('attention_metadata', 'int32', [2], bounds);
    run.upload('logits_index', 'int64', [numWanted], wanted);
    run.bindOutput('logits', this.#firstLogits(numWanted));
    run.run();
  }

  read(segments: readonly Segment[]): SegmentLogits[] {
    return this.#topK.read(segments);
  }

  copyPages(moves: readonly PageMove[]): void {
    const from = BigInt64Array.from(moves, (move) => BigInt(move.from));
    const to = BigInt64Array.from(moves, (move) => BigInt(move.to));
    this.#copy.copy(from, to);
  }

  #firstLogits(count: number): Tensor {
    let view = this.#views.get(count);
    if (!view) {
      view = Tensor.overStartOf('float', [count, this.vocabSize], this.#logits);
      this.#views.set(count, view);
    }
    return view;
  }

  release(): void {
    this.#copy.release();
    this.#copier.release();
    this.#run.release();
    this.#topK.release();
    for (const tensor of [...this.#views.values(), ...this.#cache, this.#logits]) tensor.release();
    this.#allocator.release();
    this.#session.release();
  }
}

/** Memory that a position takes in all layers, in bytes. */
export function pagedBytesPerPosition({ numLayers, numKvHeads, headDim }: DecoderManifest): number {
  return 2 * numLayers * numKvHeads * headDim * BYTES_PER_ELEMENT;
}

/**
 * The smallest page that the provider's fastest kernels read: a tile of keys must not cross into
 * another page. The CUDA provider's FlashAttention has tiles of 256, 128 or 64 positions by head
 * size, the WebGPU provider's prefill of 32.
 */
export function pagedPageLength(device: DeviceName, headDim: number): number {
  if (device === 'webgpu') return 32;
  if (headDim <= 64) return 256;
  return headDim <= 128 ? 128 : 64;
}
