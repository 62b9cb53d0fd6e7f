/** Progress bars on stderr, where progress is shown; without a terminal, a line now and then. */
import { PassThrough } from 'node:stream';
import { Presets, SingleBar } from 'cli-progress';
import { progressIsShown } from './show-progress.ts';
import { SlowNotice } from './slow-notice.ts';

/** @param format of cli-progress */
export function progressBar(format: string): SingleBar {
  // The cursor stays: nothing would show it again after a signal.
  const options = { format, noTTYOutput: true, notTTYSchedule: 5000, clearOnComplete: true };
  const nowhere = { noTTYOutput: false, stream: new PassThrough() };
  const shown = progressIsShown() ? options : { ...options, ...nowhere };
  return new SingleBar(shown, Presets.shades_classic);
}

/** A bar over a number of steps, which its owner starts and stops. */
export function stepsBar(what: string): SingleBar {
  return progressBar(`${what} |{bar}| {percentage}% {value}/{total}, {eta_formatted} left`);
}

/**
 * Runs something that reports its progress in bytes, with a bar from its first report on.
 * @param what it is, such as `building the model`
 */
export async function withProgressBar<R>(
  what: string,
  action: (onProgress: (done: number, total: number) => void) => Promise<R>,
): Promise<R> {
  const bar = progressBar(`${what} |{bar}| {percentage}% {value}/{total} MiB`);
  const notice = new SlowNotice();
  notice.begin(what);
  let started = false;
  try {
    return await action((done, total) => {
      notice.end();
      if (!started) bar.start(toMebibytes(total), 0);
      started = true;
      bar.update(toMebibytes(done));
    });
  } finally {
    notice.end();
    if (started) bar.stop();
  }
}

/** A bar over steps for each thing that is done. */
export async function withStepBars<R>(
  action: (onProgress: (what: string, done: number, total: number) => void) => Promise<R>,
): Promise<R> {
  let current: { readonly what: string; readonly bar: SingleBar } | undefined;
  try {
    return await action((what, done, total) => {
      if (current?.what !== what) {
        current?.bar.stop();
        current = { what, bar: stepsBar(what) };
        current.bar.start(total, 0);
      }
      current.bar.update(done);
    });
  } finally {
    current?.bar.stop();
  }
}

function toMebibytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}
