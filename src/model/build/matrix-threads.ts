import { startThreadPool } from '../../threads/thread-pool.ts';
import { type MatrixTask, piecesOf, type WeightSource } from '../huggingface/weights.ts';
import { ModelError } from '../model-error.ts';
import { readIntegers } from '../quantize/stored-blocks.ts';
import type { MatrixAnswer } from './matrix-thread.ts';
import type { ThreadedModel } from './model-source.ts';

const ENTRY = new URL('./matrix-thread.js', import.meta.url);

/** Heap of a thread: what matrices are made of and made into is outside of it. */
const HEAP_MB = 1024;

/**
 * A model's weights with threads that make matrices of them, each of which opens the model by itself.
 * @param weights of the model; closed with the result
 */
export function withThreads(
  weights: WeightSource,
  model: ThreadedModel,
  maxThreads: number,
): WeightSource {
  const threads = startThreadPool<MatrixTask, MatrixAnswer>({
    entry: ENTRY,
    workerData: model,
    maxThreads,
    heapMb: HEAP_MB,
  });
  return {
    get: (name, shape) => weights.get(name, shape),
    pieces: (name, shape) => piecesOf(weights, name, shape),
    typeOf: (name) => weights.typeOf?.(name) ?? null,
    layout: (name, shape) => weights.layout?.(name, shape) ?? null,
    integers: (name, [rows = 0, columns = 0]) => readIntegers(weights, name, [rows, columns]),
    async made(task) {
      const answer = await threads.run(task);
      if (answer.type === 'made') return answer.matrix;
      throw new ModelError(answer.message);
    },
    async close() {
      await threads.destroy();
      await weights.close();
    },
  };
}
