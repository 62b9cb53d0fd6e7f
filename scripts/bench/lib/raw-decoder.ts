import { OnnxDecoder } from '../../../src/engine/cpu/cpu-decoder.ts';
import { kvShape, KvStorage } from '../../../src/engine/cpu/kv-storage.ts';
import type { LogitsRow } from '../../../src/engine/sampling/sampler.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { engineRequest } from '../../../test/support/engine-requests.ts';
import { createSharedMemory } from '../../../src/ort/native-memory.ts';
import type { BuiltModel } from '../../../src/model/manifest.ts';

/** The engine's decoder without the engine: the same runs, no scheduling and no sampling. */
export class RawDecoder {
  readonly #decoder: OnnxDecoder;
  readonly #sequences: Sequence[];
  /** What computing all rows' contexts took, each as one whole prompt. */
  readonly prefillMs: number;

  /**
   * @param context tokens that every row has cached before the first step
   * @param durable as with `--durable-kv`: a cache in shared memory, reproducible runs
   */
  constructor(
    model: BuiltModel,
    rows: number,
    capacity: number,
    context: number,
    intraOpThreads: number,
    durable = false,
  ) {
    const shape = kvShape(model.manifest, rows, capacity);
    const sharedMemory = durable ? createSharedMemory(KvStorage.byteLength(shape)) : null;
    this.#decoder = new OnnxDecoder(model, {
      numRows: rows,
      maxModelLen: capacity,
      sharedMemory,
      reproducible: durable,
      session: { intraOpThreads },
    });
    const start = performance.now();
    this.#sequences = Array.from({ length: rows }, (_, row) => this.#prefilled(row, context));
    this.prefillMs = performance.now() - start;
  }

  /** One token for every row, behind the context: the same work every time. @returns its logits */
  step(): readonly LogitsRow[] {
    const decode = this.#sequences.map((sequence) => ({
      sequence,
      position: sequence.numComputedTokens,
    }));
    const { rows, failures } = this.#decoder.execute({
      cacheOperations: [],
      decode,
      prefill: [],
      numBatchedTokens: decode.length,
    });
    if (failures[0]) throw new Error(failures[0].message);
    return rows;
  }

  /** The context of the first row, computed anew in one run. */
  prefill(): void {
    const [sequence] = this.#sequences;
    if (sequence) this.#prefill(sequence, sequence.numComputedTokens);
  }

  release(): void {
    this.#decoder.release();
  }

  #prefilled(row: number, context: number): Sequence {
    const promptTokenIds = Int32Array.from(
      { length: context + 1 },
      (_, index) => 3 + ((row + index) % 200),
    );
    const sequence = new Sequence(engineRequest({ id: row, promptTokenIds, maxTokens: 1 }));
    sequence.row = row;
    this.#prefill(sequence, context);
    sequence.numComputedTokens = context;
    return sequence;
  }

  #prefill(sequence: Sequence, length: number): void {
    const prefill = [[{ sequence, start: 0, length }]];
    this.#decoder.execute({ cacheOperations: [], decode: [], prefill, numBatchedTokens: length });
  }
}
