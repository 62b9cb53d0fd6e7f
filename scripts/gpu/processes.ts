/** Programs that report their progress in lines of JSON. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { JobResult } from './job.ts';

const running = new Set<ChildProcess>();

/** Lines of a program's complaints to be shown. */
const SHOWN_LINES = 3;

/**
 * Runs a program to its end, or until it has taken too long.
 * @param onResult called with each result that it prints
 * @returns the last of them, and why there may be no more
 */
export function runProgram(
  program: string,
  args: readonly string[],
  timeoutMs: number,
  onResult: (result: JobResult) => void = () => {},
): Promise<JobResult> {
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  running.add(child);
  let result: JobResult = {};
  const complaints: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (!line.startsWith('{')) return;
    result = JSON.parse(line) as JobResult;
    onResult(result);
  });
  createInterface({ input: child.stderr }).on('line', (line) => {
    complaints.push(line);
    if (complaints.length > SHOWN_LINES) complaints.shift();
  });
  return new Promise((resolve) => {
    child.once('error', ({ message }) => resolve({ ...result, error: message }));
    child.once('close', (code, signal) => {
      running.delete(child);
      if (code === 0) return resolve(result);
      const end = signal === 'SIGKILL' ? `stopped after ${Math.round(timeoutMs / 1000)} s` : '';
      const error = end || `ended with ${signal ?? code}: ${complaints.join(' ')}`;
      resolve({ ...result, error: result.error ?? error });
    });
  });
}

/** Removes all that it made. */
export function killPrograms(): void {
  for (const child of running) child.kill('SIGKILL');
}
