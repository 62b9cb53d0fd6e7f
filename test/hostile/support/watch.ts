/** Starts the watcher, and hands on what it saw. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

export type WatcherMessage = 'take' | 'end';

/** Longest times that the victim and the probe saw in a while, in milliseconds. */
export interface Sight {
  /** Between two pieces of a text. */
  readonly gapMs: number;
  /** The same, less the time in which the server, or who measured, was ready to run and had no core. */
  readonly stallMs: number;
  /** For the first piece of a text. */
  readonly waitMs: number;
  /** Texts that came to their end. */
  readonly texts: readonly string[];
  /** For a whole text; the shortest time. */
  readonly textMs: number;
  readonly errors: readonly string[];
  /** For an answer of `/livez`. */
  readonly livezMs: number;
  /** As `stallMs`. */
  readonly livezStallMs: number;
  readonly numProbes: number;
  readonly probeErrors: readonly string[];
}

export class Watch {
  readonly #child: ChildProcess;

  /** @param pids of the server's front and engine */
  constructor(url: string, hasKeys: boolean, pids: readonly [front: number, engine: number]) {
    const argv = [url, String(hasKeys), ...pids.map(String)];
    this.#child = fork(new URL('./watcher.ts', import.meta.url), argv, {
      execArgv: ['--import', 'tsx'],
    });
  }

  /** Takes what was seen since the last call, a whole text at least. */
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
