import { LIMITS } from '../limits.ts';
import type { Handle } from '../ort/handle.ts';
import type { EncoderInput, EncoderOutcome } from './process/protocol.ts';
import { byteLengthOfAll, type TensorValue } from './tensors/tensor.ts';

/** Outputs of requests whose batch failed and that were run one by one, together. */
const MAX_HELD_BYTES = 4 * LIMITS.tensorOutputBytes;

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

/** Outcomes that are there until their release. */
export interface HeldOutcomes {
  readonly outcomes: readonly EncoderOutcome[];
  readonly release: () => void;
}

/** Runs batches; when one fails, each of its requests by itself, so that only the one to blame fails. */
export class BatchRunner {
  readonly #batch: Batch;

  constructor(batch: Batch) {
    this.#batch = batch;
  }

  /** @param use takes the outcomes, which are no longer there when it returns */
  run(inputs: readonly EncoderInput[], use: (outcomes: readonly EncoderOutcome[]) => void): void {
    const { outcomes, release } = this.hold(inputs);
    try {
      use(outcomes);
    } finally {
      release();
    }
  }

  hold(inputs: readonly EncoderInput[]): HeldOutcomes {
    try {
      return this.#runOnce(inputs);
    } catch (error) {
      if (inputs.length > 1) return this.#runEach(inputs);
      const message = error instanceof Error ? error.message : String(error);
      return { outcomes: [{ type: 'failed', message }], release() {} };
    }
  }

  #runOnce(inputs: readonly EncoderInput[]): HeldOutcomes {
    const { outputs, tensors } = this.#batch.run(inputs);
    const release = (): void => {
      for (const tensor of tensors) tensor.release();
    };
    const outcomes = outputs.map(bounded);
    if (inputs.length > 1 && outcomes.some(({ type }) => type === 'failed')) {
      release();
      // One request may have made the outputs of all this large.
      throw new Error('the outputs of a batch are too large');
    }
    return { outcomes, release };
  }

  #runEach(inputs: readonly EncoderInput[]): HeldOutcomes {
    const all: HeldOutcomes[] = [];
    let heldBytes = 0;
    for (const input of inputs) {
      const each = this.hold([input]);
      const bytes = each.outcomes.reduce((sum, outcome) => sum + bytesOf(outcome), 0);
      if (heldBytes + bytes > MAX_HELD_BYTES) {
        each.release();
        const message = 'the outputs of the requests that came with it take too much memory';
        all.push({ outcomes: [{ type: 'failed', message }], release() {} });
        continue;
      }
      heldBytes += bytes;
      all.push(each);
    }
    return {
      outcomes: all.flatMap(({ outcomes }) => outcomes),
      release: () => {
        for (const { release } of all) release();
      },
    };
  }
}

/** Fails a request whose outputs are beyond the limits. */
function bounded(output: readonly TensorValue[]): EncoderOutcome {
  const texts = output.find(
    ({ datatype, data }) => datatype === 'BYTES' && data.length > LIMITS.tensorStrings,
  );
  if (texts) {
    const message = `the output "${texts.name}" has ${texts.data.length} texts; ${LIMITS.tensorStrings} are the most`;
    return { type: 'failed', message };
  }
  const bytes = byteLengthOfAll(output);
  if (bytes <= LIMITS.tensorOutputBytes) return { type: 'done', output };
  const message = `its outputs have ${bytes} bytes; ${LIMITS.tensorOutputBytes} are the most`;
  return { type: 'failed', message };
}

function bytesOf(outcome: EncoderOutcome): number {
  if (outcome.type === 'failed') return 0;
  return byteLengthOfAll(outcome.output);
}
