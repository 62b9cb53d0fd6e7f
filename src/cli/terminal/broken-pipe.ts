/** Handling of an output that has no reader any more, as in `chairlift list | head -1`. */

/** As a shell reports a program that SIGPIPE ended, which Node.js ignores. */
const EXIT_CODE = 128 + 13;

const outputs = () => [process.stdout, process.stderr];

/** Ends the process quietly once nobody reads what it prints. */
export function endAtBrokenPipe(): void {
  for (const output of outputs()) {
    output.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      process.exit(EXIT_CODE);
    });
  }
}

/** Prints what a server says when it is ready. From then on it works on without a reader. */
export function printReady(text: string): void {
  process.stdout.write(`${text}\n`, (error) => {
    if (error) return;
    for (const output of outputs()) {
      output.removeAllListeners('error');
      output.on('error', () => {});
    }
  });
}
