import { onEndSignals } from '../terminal/end-signals.ts';
import { onNpmGone } from './npm-parent.ts';

/**
 * Runs `shutDown` at the first SIGTERM or SIGINT, or when the npm that started this process is gone,
 * and exits with 0 when it is done; a later signal exits at once.
 */
export function onShutdownSignal(shutDown: () => Promise<void>): void {
  let hasBegun = false;
  const begin = (reason: string) => {
    hasBegun = true;
    console.error(`chairlift: ${reason}, finishing what is running (signal again to stop at once)`);
    shutDown().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  };
  const exit = () => process.exit(1);
  onEndSignals((signal) => (hasBegun ? exit() : begin(signal)), exit);
  onNpmGone(() => {
    if (!hasBegun) begin('npm is gone');
  });
}
