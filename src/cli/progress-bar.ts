import { Presets, SingleBar } from 'cli-progress';

/**
 * Runs something that reports its progress in bytes, with a bar on stderr from its first report on.
 * @param what it is, such as `building the model`
 */
export async function withProgressBar<R>(
  what: string,
  action: (onProgress: (done: number, total: number) => void) => Promise<R>,
): Promise<R> {
  const bar = new SingleBar(
    {
      format: `${what} |{bar}| {percentage}% {value}/{total} MiB`,
      // Without a terminal, a line now and then.
      noTTYOutput: true,
      notTTYSchedule: 5000,
      hideCursor: true,
      clearOnComplete: true,
    },
    Presets.shades_classic,
  );
  let started = false;
  try {
    return await action((done, total) => {
      if (!started) bar.start(toMebibytes(total), 0);
      started = true;
      bar.update(toMebibytes(done));
    });
  } finally {
    if (started) bar.stop();
  }
}

/** A bar on stderr over steps for each thing that is done. */
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

/** A bar on stderr over so many steps, which its owner starts and stops. */
export function stepsBar(what: string): SingleBar {
  return new SingleBar(
    {
      format: `${what} |{bar}| {percentage}% {value}/{total}, {eta_formatted} left`,
      noTTYOutput: true,
      notTTYSchedule: 5000,
      hideCursor: true,
      clearOnComplete: true,
    },
    Presets.shades_classic,
  );
}

function toMebibytes(bytes: number): number {
  return Math.round(bytes / 2 ** 20);
}
