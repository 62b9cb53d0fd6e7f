/** SIGINT and SIGTERM: what a process does at the first one, and at a later one. */
import { constants } from 'node:os';

/** A signal to a whole group comes once more through npm: it is the same signal. */
const SAME_SIGNAL_MS = 500;

/** @returns ends that */
export function onEndSignals(
  first: (signal: NodeJS.Signals) => void,
  later: (signal: NodeJS.Signals) => void,
): () => void {
  let firstAt: number | null = null;
  const handle = (signal: NodeJS.Signals) => {
    if (firstAt === null) {
      firstAt = performance.now();
      first(signal);
    } else if (performance.now() - firstAt > SAME_SIGNAL_MS) {
      later(signal);
    }
  };
  process.on('SIGTERM', handle);
  process.on('SIGINT', handle);
  return () => {
    process.off('SIGTERM', handle);
    process.off('SIGINT', handle);
  };
}

/** As a shell reports a program that a signal ended. */
export function exitCodeOf(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}
