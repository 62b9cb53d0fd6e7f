/** Our decoder by itself: the same runs as the engine's, no scheduling and no sampling. */
import { CpuDecoder } from '../../../../src/engine/cpu/cpu-decoder.ts';
import { Sequence } from '../../../../src/engine/sequence.ts';
import { type Segment, segmentOf } from '../../../../src/engine/step.ts';
import { PRECISIONS } from '../../../../src/model/manifest.ts';
import { engineRequest } from '../../../../test/support/engine-requests.ts';
import { servedModel } from '../built-model.ts';
import type { Contender, Setup } from '../contender.ts';

export async function open(setup: Setup): Promise<Contender> {
  const { sequences: numSlots, capacity, threads } = setup;
  const precision = PRECISIONS.find((name) => name === setup.precision);
  if (!precision) throw new Error(`Chairlift has no precision ${setup.precision}`);
  const decoder = new CpuDecoder(await servedModel(setup, precision), {
    numSlots,
    maxModelLen: capacity,
    session: { intraOpThreads: threads },
  });
  const run = (segments: readonly Segment[]) => {
    const { failures } = decoder.execute({ cacheOperations: [], segments });
    if (failures[0]) throw new Error(failures[0].message);
  };
  return {
    async batch(work) {
      const sequences = work.map(({ promptTokenIds, outputTokens: maxTokens }, row) => {
        const prompt = Int32Array.from(promptTokenIds);
        const sequence = new Sequence(
          engineRequest({ id: row, promptTokenIds: prompt, maxTokens }),
        );
        sequence.slot = row;
        return sequence;
      });
      const [first] = work;
      if (!first) throw new RangeError('there is nothing to do');
      const { outputTokens } = first;
      const { length } = first.promptTokenIds;
      const start = performance.now();
      for (const sequence of sequences) run([segmentOf(sequence, length, 0)]);
      const prefilled = performance.now();
      for (let step = 0; step < outputTokens; step++) {
        for (const sequence of sequences) sequence.append(5);
        run(sequences.map((sequence) => segmentOf(sequence, 1, length + step)));
      }
      return { prefillMs: prefilled - start, decodeMs: performance.now() - prefilled };
    },
    serve: null,
    async close() {
      decoder.release();
    },
  };
}
