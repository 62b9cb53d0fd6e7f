/** Our engine in this process: scheduler, KV cache, decoder and greedy sampler, without HTTP. */
import { openEngine } from '../../../../src/engine/process/open-engine.ts';
import { PRECISIONS } from '../../../../src/model/manifest.ts';
import { engineRequest } from '../../../../test/support/engine-requests.ts';
import type { Contender, OpenContender, Setup, Work } from '../contender.ts';
import { portableModel, servedModel } from '../built-model.ts';

export const open: OpenContender = (setup) => openWith(setup, Infinity);

/** The same with ONNX Runtime's kernels, which keep a file's own integers. */
export const openPortable: OpenContender = (setup) => openWith(setup, Infinity, portableModel);

/** The same engine, given a batch only when the one before has ended. */
export const openStatic: OpenContender = (setup) => openWith(setup, setup.sequences);

/** @param batchSize requests that the engine gets at once */
async function openWith(
  setup: Setup,
  batchSize: number,
  modelOf = servedModel,
): Promise<Contender> {
  const { sequences, capacity, threads } = setup;
  const precision = PRECISIONS.find((name) => name === setup.precision);
  if (!precision) throw new Error(`Chairlift has no precision ${setup.precision}`);
  const { engine, decoder } = openEngine({
    model: await modelOf(setup, precision),
    maxNumSeqs: sequences,
    maxModelLen: capacity,
    // All prompts of a batch in one step, so that prefill and decode can be told apart.
    maxNumBatchedTokens: sequences * capacity,
    threads,
    kvCacheMemory: 8 * 2 ** 30,
    prefixCaching: false,
    targetItlMs: null,
  });
  let nextId = 1;
  const add = ({ promptTokenIds, outputTokens }: Work, extra: number) =>
    engine.add(
      engineRequest({
        id: nextId++,
        promptTokenIds: Int32Array.from(promptTokenIds),
        maxTokens: outputTokens + extra,
      }),
    );
  const finish = () => {
    while (engine.hasWork) engine.step();
  };
  return {
    async batch(work) {
      // Prefill gives the first token; the others are decoded.
      for (const item of work) add(item, 1);
      const start = performance.now();
      let started = 0;
      while (started < work.length) started += engine.step().length;
      const prefilled = performance.now();
      finish();
      return { prefillMs: prefilled - start, decodeMs: performance.now() - prefilled };
    },
    async serve(work) {
      const pending = [...work];
      while (pending.length > 0) {
        for (const item of pending.splice(0, batchSize)) add(item, 0);
        finish();
      }
    },
    async close() {
      decoder.release();
    },
  };
}
