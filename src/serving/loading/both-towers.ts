import type { BatcherStats } from '../../front/batching/batcher-stats.ts';
import type { TextModel } from '../../front/embedding/text-model.ts';

/** A model without state, as far as it is started, watched and stopped. */
export interface StatelessModel extends Pick<
  TextModel,
  'state' | 'memoryBytes' | 'pids' | 'start' | 'close' | 'stop'
> {
  readonly stats: Pick<BatcherStats, 'numWaiting' | 'numRunning'>;
}

/** Two models that are one for whoever loads it: ready once both are, gone with both. */
export function bothTowers(texts: StatelessModel, images: StatelessModel): StatelessModel {
  const both = [texts, images];
  return {
    get state() {
      return texts.state === 'ready' ? images.state : texts.state;
    },
    get memoryBytes() {
      return texts.memoryBytes + images.memoryBytes;
    },
    get pids() {
      return both.flatMap(({ pids }) => pids);
    },
    get stats() {
      const [first, second] = [texts.stats, images.stats];
      return {
        numWaiting: first.numWaiting + second.numWaiting,
        numRunning: first.numRunning + second.numRunning,
      };
    },
    // One after the other: both read the same files.
    async start() {
      for (const each of both) await each.start();
    },
    close() {
      for (const each of both) each.close();
    },
    async stop() {
      await Promise.all(both.map((each) => each.stop()));
    },
  };
}
