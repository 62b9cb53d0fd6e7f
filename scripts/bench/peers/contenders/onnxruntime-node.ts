/** Chairlift's graph in onnxruntime-node's own `run(feeds, fetches)`. */
import { RunLoop } from '../../lib/run-loop.ts';
import { portableModel } from '../built-model.ts';
import type { OpenContender } from '../contender.ts';

export const open: OpenContender = async (setup) => {
  const { sequences, capacity, threads } = setup;
  const model = await portableModel(setup, 'fp32');
  const loop = await RunLoop.open(model, sequences, capacity, threads);
  return {
    async batch(work) {
      const { promptTokenIds, outputTokens } = work[0] ?? { promptTokenIds: [], outputTokens: 0 };
      const start = performance.now();
      for (let step = 0; step < outputTokens; step++) await loop.step(promptTokenIds.length + step);
      return { prefillMs: null, decodeMs: performance.now() - start };
    },
    serve: null,
    close: () => loop.release(),
  };
};
