/**
 * Runs `shutDown` at the first SIGTERM or SIGINT and exits with 0 when it is done; a second signal
 * exits at once.
 */
export function onShutdownSignal(shutDown: () => Promise<void>): void {
  let shuttingDown = false;
  const handle = (signal: NodeJS.Signals) => {
    if (shuttingDown) process.exit(1);
    shuttingDown = true;
    console.error(`chairlift: ${signal}, finishing what is running (again to stop at once)`);
    shutDown().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', handle);
  process.on('SIGINT', handle);
}
