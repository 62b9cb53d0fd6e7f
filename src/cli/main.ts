#!/usr/bin/env node
/**
 * Entry point of `chairlift`. It loads only the modules that the command needs: a probe runs every few
 * seconds.
 */
import { endAtBrokenPipe } from './terminal/broken-pipe.ts';
import { runCommandLine } from './command-line.ts';
import { errorLine } from './terminal/error-line.ts';
import { showProgress } from '../serving/progress/show-progress.ts';
import { UsageError } from '../settings/usage-error.ts';

const words = process.argv.slice(2);
endAtBrokenPipe();
showProgress();
process.on('uncaughtException', fail);
await runCommandLine(words).catch(fail);

function fail(error: unknown): never {
  const line = errorLine(error);
  console.error(line === null ? error : `chairlift: ${line}`);
  // Docker knows 0 and 1 of a health check, and keeps 2 for itself.
  const isMistyped = error instanceof UsageError && words[0] !== 'probe';
  process.exit(isMistyped ? 2 : process.exitCode || 1);
}
