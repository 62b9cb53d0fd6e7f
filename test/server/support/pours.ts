/** A generator that outruns every socket's buffers. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { GenerationDelta, Generator } from '../../../src/front/generation/generation.ts';

/** A generator of large deltas, and a count of those that were pulled. */
export function pours(numDeltas: number): Generator & { numPulled: number } {
  const text = 'x'.repeat(64 * 1024);
  return {
    numPulled: 0,
    async *generate(): AsyncGenerator<GenerationDelta, void> {
      for (; this.numPulled < numDeltas; this.numPulled++) {
        yield { text, tokenIds: [], finishReason: null, stopReason: null };
      }
      yield { text: '', tokenIds: [], finishReason: 'length', stopReason: null };
    },
  };
}

/** The count once it has stopped rising. */
export async function stalled(count: () => number): Promise<number> {
  for (;;) {
    const before = count();
    await sleep(100);
    if (before > 0 && count() === before) return before;
  }
}
