import type { Engine } from '../../front/engine-process/engine-contract.ts';
import { NextTurns, type NextTurnsOptions } from '../../front/prefetch/next-turns.ts';
import { PinnedPrefixes } from '../../front/prefetch/pinned-prefixes.ts';
import { Prefetcher } from '../../front/prefetch/prefetcher.ts';
import type { Admission } from '../../front/queue/admission.ts';

interface PrefetchingOptions {
  readonly engine: Engine;
  readonly admission: Pick<Admission, 'running' | 'waiting'>;
  /** Whether what a conversation may go on with is computed ahead. */
  readonly withNextTurns: boolean;
}

/** Opens the parts that compute prompts of a model ahead. */
export function openPrefetching(
  model: NextTurnsOptions['model'],
  { engine, admission, withNextTurns }: PrefetchingOptions,
) {
  const prefetcher = new Prefetcher(engine);
  const pinned = new PinnedPrefixes({ prefetcher, engine });
  const isIdle = () => admission.running + admission.waiting + engine.stats.numRunning === 0;
  const nextTurns = withNextTurns ? new NextTurns({ model, prefetcher, isIdle }) : null;
  return {
    parts: { prefetcher, pinned, nextTurns },
    close() {
      nextTurns?.close();
      pinned.close();
    },
  };
}
