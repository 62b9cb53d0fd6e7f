import { onNpmGone } from './npm-parent.ts';

/** A signal to a whole group comes once more through npm: it is the same signal. */
const SAME_SIGNAL_MS = 500;

/**
 * Runs `shutDown` at the first SIGTERM or SIGINT, or when the npm that started this process is gone,
 * and exits with 0 when it is done; a later signal exits at once.
 */
export function onShutdownSignal(shutDown: () => Promise<void>): void {
  let begunAt: number | null = null;
  const begin = (reason: string) => {
    begunAt = performance.now();
    console.error(`chairlift: ${reason}, finishing what is running (signal again to stop at once)`);
    shutDown().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  };
  const handle = (signal: NodeJS.Signals) => {
    if (begunAt === null) begin(signal);
    else if (performance.now() - begunAt > SAME_SIGNAL_MS) process.exit(1);
  };
  process.on('SIGTERM', handle);
  process.on('SIGINT', handle);
  onNpmGone(() => {
    if (begunAt === null) begin('npm is gone');
  });
}
