import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { EvalJob, EvalMessage, EvalResult } from './eval-messages.ts';

const RUNS_FROM_SOURCE = import.meta.url.endsWith('.ts');
const ENTRY = new URL(`./main.${RUNS_FROM_SOURCE ? 'ts' : 'js'}`, import.meta.url);

/**
 * Measures a model in a process of its own, so that memory and load time are its own.
 * @throws {Error} if the model cannot be loaded or run, or the process dies
 */
export async function evaluate(
  job: EvalJob,
  onProgress: (done: number) => void,
): Promise<EvalResult> {
  const child = fork(fileURLToPath(ENTRY), [], {
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: RUNS_FROM_SOURCE ? ['--import', 'tsx'] : [],
  });
  const result = new Promise<EvalResult>((resolve, reject) => {
    child.on('message', (message: EvalMessage) => {
      if (message.type === 'progress') onProgress(message.done);
      else if (message.type === 'done') resolve(message.result);
      else reject(new Error(message.message));
    });
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      reject(new Error(`the evaluation process ended with ${signal ?? `code ${code}`}`)),
    );
    child.send(job);
  });
  try {
    return await result;
  } finally {
    if (child.connected) child.disconnect();
  }
}
