/** Starts the watcher, and hands on what it saw. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

export type WatcherMessage = 'take' | 'end';

/** What the victim and the probe saw in a while; times in milliseconds, each the longest of all. */
export interface Sight {
  /** Between two pieces of a text. */
  readonly gapMs: number;
  /** For the first piece of a text. */
  readonly waitMs: number;
  /** Texts that came to their end. */
  readonly texts: readonly string[];
  readonly errors: readonly string[];
  /** For an answer of `/livez`. */
  readonly livezMs: number;
  readonly numProbes: number;
  readonly probeErrors: readonly string[];
}

export class Watch {
  readonly #child: ChildProcess;

  constructor(url: string, hasKeys: boolean) {
    this.#child = fork(new URL('./watcher.ts', import.meta.url), [url, String(hasKeys)], {
      execArgv: ['--import', 'tsx'],
    });
  }

  /** What was seen since this was last asked, a whole text at least. */
  take(): Promise<Sight> {
    return this.#ask('take');
  }

  /** As `take`, once the text that is at work has come to its end. */
  end(): Promise<Sight> {
    return this.#ask('end');
  }

  /** At once, whatever is at work. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  async #ask(message: WatcherMessage): Promise<Sight> {
    const answered = once(this.#child, 'message') as Promise<[Sight]>;
    this.#child.send(message);
    const [sight] = await answered;
    return sight;
  }
}
