import type { Handle } from '../ort/handle.ts';
import type { EncoderInput, EncoderOutcome } from './process/protocol.ts';
import type { TensorValue } from './tensors/tensor.ts';

/** Runs a batch once, all or none. */
export interface Batch {
  /**
   * @returns the outputs of each input; they lie over the tensors, which the caller releases
   * @throws Error when the run fails
   */
  run(inputs: readonly EncoderInput[]): {
    readonly outputs: readonly (readonly TensorValue[])[];
    readonly tensors: readonly Handle[];
  };
}

/** Runs batches; when one fails, each of its requests by itself, so that only the one to blame fails. */
export class BatchRunner {
  readonly #batch: Batch;

  constructor(batch: Batch) {
    this.#batch = batch;
  }

  /** @param use takes the outcomes, which are no longer there when it returns */
  run(inputs: readonly EncoderInput[], use: (outcomes: readonly EncoderOutcome[]) => void): void {
    const held: Handle[] = [];
    try {
      use(this.#outcomesOf(inputs, held));
    } finally {
      for (const tensor of held) tensor.release();
    }
  }

  #outcomesOf(inputs: readonly EncoderInput[], held: Handle[]): EncoderOutcome[] {
    try {
      const { outputs, tensors } = this.#batch.run(inputs);
      held.push(...tensors);
      return outputs.map((output) => ({ type: 'done', output }));
    } catch (error) {
      if (inputs.length > 1) return inputs.flatMap((input) => this.#outcomesOf([input], held));
      const message = error instanceof Error ? error.message : String(error);
      return [{ type: 'failed', message }];
    }
  }
}
