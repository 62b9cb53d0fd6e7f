import { startThreadPool } from '../../threads/thread-pool.ts';
import { piecesOf, type WeightSource } from '../huggingface/weights.ts';
import { ModelError } from '../model-error.ts';
import { readIntegers } from '../quantize/stored-blocks.ts';
import { packedBytes } from '../quantize/packed-matrix.ts';
import type { MatrixAnswer, ThreadTask } from './matrix-thread.ts';
import type { ThreadedModel } from './model-source.ts';

const ENTRY = new URL('./matrix-thread.js', import.meta.url);

/** Heap of a thread: what matrices are made of and made into is outside of it. */
const HEAP_MB = 1024;

/** Bytes of a matrix that is made in shared memory: of larger ones, vocabularies, a model has one or two. */
const MOST_SHARED = 128 * 2 ** 20;

/**
 * A model's weights with threads that make matrices of them, each of which opens the model by itself.
 * @param weights of the model; closed with the result
 */
export function withThreads(
  weights: WeightSource,
  model: ThreadedModel,
  maxThreads: number,
): WeightSource {
  const threads = startThreadPool<ThreadTask, MatrixAnswer>({
    entry: ENTRY,
    workerData: model,
    maxThreads,
    heapMb: HEAP_MB,
  });
  const shared = new SharedMemory();
  return {
    get: (name, shape) => weights.get(name, shape),
    pieces: (name, shape) => piecesOf(weights, name, shape),
    typeOf: (name) => weights.typeOf?.(name) ?? null,
    layout: (name, shape) => weights.layout?.(name, shape) ?? null,
    integers: (name, [rows = 0, columns = 0]) => readIntegers(weights, name, [rows, columns]),
    async made(task) {
      const memory = task.kind === 'native' ? shared.take(packedBytes(task)) : undefined;
      const answer = await threads.run({ task, memory });
      if (answer.type !== 'made') throw new ModelError(answer.message);
      return memory ? { ...answer.matrix, release: () => shared.give(memory) } : answer.matrix;
    },
    async close() {
      await threads.destroy();
      await weights.close();
    },
  };
}

/**
 * Memory that matrices are made in, one after the other. Each in memory of its own would have the system clear
 * all of it, and V8 look for garbage all the time.
 */
class SharedMemory {
  readonly #free: SharedArrayBuffer[] = [];

  /** @returns as much as that, or somewhat more, with whatever was in it; undefined where that is too much */
  take(byteLength: number): SharedArrayBuffer | undefined {
    if (byteLength > MOST_SHARED) return undefined;
    const fits = ({ byteLength: size }: SharedArrayBuffer) =>
      size >= byteLength && size <= 2 * byteLength;
    const index = this.#free.findIndex(fits);
    const [found] = index < 0 ? [] : this.#free.splice(index, 1);
    return found ?? new SharedArrayBuffer(byteLength);
  }

  give(memory: SharedArrayBuffer): void {
    this.#free.push(memory);
  }
}
