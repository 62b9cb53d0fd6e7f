import { exitCodeOf, onEndSignals } from './end-signals.ts';
import { errorLine } from './error-line.ts';

/**
 * Runs work that ends with the process at SIGINT or SIGTERM, but not without a word: `report` says what
 * there is, or how to go on. A second signal ends the process at once. For work that leaves the event
 * loop time to notice a signal.
 * @returns what the work returns; never, if it is interrupted
 */
export async function interruptible<R>(
  work: () => Promise<R>,
  report: () => void | Promise<void>,
): Promise<R> {
  let ending: Promise<never> | undefined;
  const end = async (signal: NodeJS.Signals): Promise<never> => {
    // Out of the line of a progress bar.
    if (process.stderr.isTTY) process.stderr.write('\n');
    try {
      await report();
    } catch (error) {
      console.error(errorLine(error) ?? error);
    }
    process.exit(exitCodeOf(signal));
  };
  const off = onEndSignals(
    (signal) => {
      ending = end(signal);
    },
    (signal) => process.exit(exitCodeOf(signal)),
  );
  try {
    return await work();
  } finally {
    await ending;
    off();
  }
}

/** For work that is kept as far as it is done. */
export function sayHowToGoOn(what: string): void {
  console.error(`chairlift: interrupted; ${what}. The same command goes on from there.`);
}
