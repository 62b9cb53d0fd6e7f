import { CpuDecoder } from '../../../src/engine/cpu/cpu-decoder.ts';
import { KvStorage } from '../../../src/engine/cpu/kv-storage.ts';
import { kvShape } from '../../../src/engine/kv-shape.ts';
import { Sequence } from '../../../src/engine/sequence.ts';
import { segmentOf, type StepResult } from '../../../src/engine/step.ts';
import { engineRequest } from '../../../test/support/engine-requests.ts';
import { createSharedMemory } from '../../../src/ort/native-memory.ts';
import type { BuiltModel } from '../../../src/model/manifest.ts';

/** The engine's decoder without the engine: the same runs, no scheduling and no sampling. */
export class RawDecoder {
  readonly #decoder: CpuDecoder;
  readonly #sequences: Sequence[];
  /** Milliseconds for computing all rows' contexts, each as one whole prompt. */
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
    this.#decoder = new CpuDecoder(model, {
      numSlots: rows,
      maxModelLen: capacity,
      sharedMemoryFd: sharedMemory,
      reproducible: durable,
      session: { intraOpThreads },
    });
    const start = performance.now();
    this.#sequences = Array.from({ length: rows }, (_, row) => this.#prefilled(row, context));
    this.prefillMs = performance.now() - start;
  }

  /** One token for every row, after the context: the same work every time. */
  step(): StepResult {
    const segments = this.#sequences.map((sequence) => segmentOf(sequence, 1));
    const result = this.#decoder.execute({ cacheOperations: [], segments });
    if (result.failures[0]) throw new Error(result.failures[0].message);
    return result;
  }

  /** The context of the first slot, computed again in one run. */
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
    sequence.slot = row;
    this.#prefill(sequence, context);
    sequence.numComputedTokens = context;
    return sequence;
  }

  #prefill(sequence: Sequence, length: number): void {
    this.#decoder.execute({ cacheOperations: [], segments: [segmentOf(sequence, length, 0)] });
  }
}
