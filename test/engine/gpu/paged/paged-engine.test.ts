import { expect, it } from 'vitest';
import { CheckedPages } from '../../../support/checked-pages.ts';
import { CheckedEngine } from '../../../support/checked-engine.ts';
import { engineRequest } from '../../../support/engine-requests.ts';

it('computes decode, prefill and everything else of a step in one run', () => {
  const limits = { maxNumSeqs: 3, capacity: 96, maxNumBatchedTokens: 40, targetItlMs: 1000 };
  const pages = { ...limits, pageLength: 16, numPages: 20, prefixCaching: false };
  const paged = new CheckedEngine(limits, new CheckedPages(pages));
  paged.engine.add(engineRequest({ id: 1, maxTokens: 10 }));
  paged.step();
  paged.engine.add(engineRequest({ id: 2, promptTokenIds: Int32Array.of(4, 5, 6, 7) }));
  paged.engine.add(engineRequest({ id: 3, promptTokenIds: Int32Array.of(8, 9) }));
  paged.step();
  expect(paged.memory.model).toMatchObject({ numRuns: 2, numMixedRuns: 1 });
  expect([...paged.outputs.keys()]).toEqual([1, 2, 3]);
});
