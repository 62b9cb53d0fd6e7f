import type { MadeMatrix, MatrixTask, WeightSource } from '../huggingface/weights.ts';
import { makePacked } from './packed-matrix.ts';
import { makeBlocks } from './make-blocks.ts';
import { makeFloats } from './make-floats.ts';
import { makeRows } from './make-rows.ts';

/** Makes what a graph stores of a matrix: in another thread, if the weights have any. */
export function makeMatrix(weights: WeightSource, task: MatrixTask): Promise<MadeMatrix> {
  return weights.made?.(task) ?? makeHere(weights, task);
}

/**
 * Makes it in this thread.
 * @param memory for values of native kernels, as many as packedBytes; new if left out
 */
export function makeHere(
  weights: WeightSource,
  task: MatrixTask,
  memory?: SharedArrayBuffer,
): Promise<MadeMatrix> {
  switch (task.kind) {
    case 'floats':
      return makeFloats(weights, task);
    case 'rows':
      return makeRows(weights, task.source);
    case 'blocks':
      return makeBlocks(weights, task);
    case 'native':
      return makePacked(weights, task, memory);
  }
}

/** A matrix that several initializers are made of. */
export class MadeOnce {
  readonly #weights: WeightSource;
  readonly #task: MatrixTask;
  #made: Promise<MadeMatrix> | null = null;

  constructor(weights: WeightSource, task: MatrixTask) {
    this.#weights = weights;
    this.#task = task;
  }

  load(): Promise<MadeMatrix> {
    this.#made ??= makeMatrix(this.#weights, this.#task);
    return this.#made;
  }

  /** For the initializer that is written last: lets go of the matrix. */
  loadLast(): Promise<MadeMatrix> {
    const made = this.load();
    this.#made = null;
    return made;
  }
}
