/** Our decoder by itself: the same runs as the engine's, no scheduling and no sampling. */
import { OnnxDecoder } from '../../../../src/engine/cpu/cpu-decoder.ts';
import { Sequence } from '../../../../src/engine/sequence.ts';
import type { StepPlan } from '../../../../src/engine/step.ts';
import { PRECISIONS } from '../../../../src/model/manifest.ts';
import { engineRequest } from '../../../../test/support/engine-requests.ts';
import { builtModel } from '../built-model.ts';
import type { Contender, Setup } from '../contender.ts';

export async function open(setup: Setup): Promise<Contender> {
  const { sequences: numRows, capacity, threads } = setup;
  const precision = PRECISIONS.find((name) => name === setup.precision);
  if (!precision) throw new Error(`Chairlift has no precision ${setup.precision}`);
  const decoder = new OnnxDecoder(await builtModel(setup, precision), {
    numRows,
    maxModelLen: capacity,
    session: { intraOpThreads: threads },
  });
  const run = (part: Partial<StepPlan>) => {
    const none = { cacheOperations: [], decode: [], prefill: [], numBatchedTokens: 0 };
    const { failures } = decoder.execute({ ...none, ...part });
    if (failures[0]) throw new Error(failures[0].message);
  };
  return {
    async batch(work) {
      const sequences = work.map(({ promptTokenIds, outputTokens }, row) => {
        const text = [...promptTokenIds, ...Array.from({ length: outputTokens }, () => 5)];
        const sequence = new Sequence(
          engineRequest({ id: row, promptTokenIds: Int32Array.from(text), maxTokens: 1 }),
        );
        sequence.row = row;
        return sequence;
      });
      const [first] = work;
      if (!first) throw new RangeError('there is nothing to do');
      const { outputTokens } = first;
      const { length } = first.promptTokenIds;
      const start = performance.now();
      for (const sequence of sequences) run({ prefill: [[{ sequence, start: 0, length }]] });
      const prefilled = performance.now();
      for (let step = 0; step < outputTokens; step++) {
        run({ decode: sequences.map((sequence) => ({ sequence, position: length + step })) });
      }
      return { prefillMs: prefilled - start, decodeMs: performance.now() - prefilled };
    },
    serve: null,
    async close() {
      decoder.release();
    },
  };
}
