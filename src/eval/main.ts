/**
 * The process that measures one model: a job in by IPC, progress and a result out. It ends when the
 * parent has read them and closes the channel.
 */
import { usableCores } from '../ort/usable-cores.ts';
import { LockstepDecoder } from './lockstep-decoder.ts';
import { measureModel } from './measure.ts';
import type { EvalJob, EvalMessage } from './eval-messages.ts';
import { reasonOf } from '../files/system-error.ts';

process.once('message', (job: EvalJob) => {
  try {
    post({ type: 'done', result: run(job) });
  } catch (error) {
    post({ type: 'failed', message: reasonOf(error) });
  }
});

function run(job: EvalJob) {
  const start = performance.now();
  const decoder = new LockstepDecoder(job.model, {
    numSlots: job.maxNumSeqs,
    capacity: job.maxModelLen,
    threads: job.threads || usableCores(),
  });
  const loadMs = performance.now() - start;
  try {
    return { loadMs, ...measureModel(decoder, job, (done) => post({ type: 'progress', done })) };
  } finally {
    decoder.release();
  }
}

function post(message: EvalMessage): void {
  process.send?.(message);
}
