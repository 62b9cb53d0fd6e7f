/** A thread that makes matrices of a model's weights, one after the other. */
import { workerData } from 'node:worker_threads';
import { move, transferableSymbol, valueSymbol } from 'piscina';

import { inRotaryOrder } from '../graph/rotary-order.ts';
import type { MadeMatrix, MatrixTask } from '../huggingface/weights.ts';
import { ModelError } from '../model-error.ts';
import { makeHere } from '../quantize/make-matrix.ts';
import { smoothedWeights } from '../static/smoothed-weights.ts';
import { inspectSource, type ThreadedModel } from './model-source.ts';

/** A matrix to make. */
export interface ThreadTask {
  readonly task: MatrixTask;
  /** See makeHere. */
  readonly memory?: SharedArrayBuffer | undefined;
}

/** Errors lose their class between threads. */
export type MatrixAnswer =
  | { readonly type: 'made'; readonly matrix: MadeMatrix }
  | { readonly type: 'refused'; readonly message: string };

// Where this fails, so does the thread: the model was opened before.
const weights = await openWeights(workerData as ThreadedModel);

async function openWeights({ source, maxModelLen, factors }: ThreadedModel) {
  const model = await inspectSource(source, maxModelLen);
  if (model.kind === 'export') throw new TypeError('exports have no weights to make matrices of');
  return inRotaryOrder(model.config, smoothedWeights(await model.open(), factors));
}

/** The arrays go to the other thread without being copied. */
export default async function answer({ task, memory }: ThreadTask): Promise<MatrixAnswer> {
  try {
    const matrix = await makeHere(weights, task, memory);
    const { values, scales, zeroPoints, offsets } = matrix;
    const arrays = [values, scales, zeroPoints, ...(offsets ? [offsets] : [])];
    const buffers = new Set(arrays.map(({ buffer }) => buffer));
    if (memory) buffers.delete(memory);
    const made: MatrixAnswer = { type: 'made', matrix };
    // The other thread receives the value.
    return move({
      [transferableSymbol]: [...buffers],
      [valueSymbol]: made,
    }) as unknown as MatrixAnswer;
  } catch (error) {
    if (error instanceof ModelError) return { type: 'refused', message: error.message };
    throw error;
  }
}
