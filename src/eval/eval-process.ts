import { forkModule } from '../threads/fork-module.ts';
import { UserError } from '../user-error.ts';
import type { EvalJob, EvalMessage, EvalResult } from './eval-messages.ts';

const ENTRY = new URL('./main.js', import.meta.url);

/**
 * Measures a model in a process of its own, so that memory and load time are its own.
 * @throws {UserError} if the model cannot be loaded or run, or the process dies
 */
export async function evaluate(
  job: EvalJob,
  onProgress: (done: number) => void,
): Promise<EvalResult> {
  const child = forkModule(ENTRY, ['ignore', 'inherit', 'inherit', 'ipc']);
  const result = new Promise<EvalResult>((resolve, reject) => {
    child.on('message', (message: EvalMessage) => {
      if (message.type === 'progress') onProgress(message.done);
      else if (message.type === 'done') resolve(message.result);
      else reject(new UserError(message.message));
    });
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      reject(new UserError(`the evaluation process ended with ${signal ?? `code ${code}`}`)),
    );
    child.send(job);
  });
  try {
    return await result;
  } finally {
    if (child.connected) child.disconnect();
  }
}
