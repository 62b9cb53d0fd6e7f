/** A RawDecoder in a process of its own, idle until it is asked for steps. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { BuiltModel } from '../../../src/model/manifest.ts';
import { RawDecoder } from './raw-decoder.ts';

interface Setup {
  readonly model: BuiltModel;
  readonly rows: number;
  readonly capacity: number;
  readonly context: number;
  readonly threads: number;
}

type Command = { readonly open: Setup } | { readonly steps: number };

const SELF = fileURLToPath(import.meta.url);

export class RawDecoderProcess {
  readonly #child: ChildProcess;
  readonly #rows: number;

  private constructor(child: ChildProcess, rows: number) {
    this.#child = child;
    this.#rows = rows;
  }

  static async open(setup: Setup): Promise<RawDecoderProcess> {
    const decoder = new RawDecoderProcess(fork(SELF, ['raw-decoder']), setup.rows);
    await decoder.#ask({ open: setup });
    return decoder;
  }

  /** Tokens per second over that many steps. */
  async tokensPerSecond(steps: number): Promise<number> {
    const ms = await this.#ask({ steps });
    return (this.#rows * steps * 1000) / ms;
  }

  async close(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.disconnect();
    await exited;
  }

  /** Resolves to the milliseconds that it took. */
  #ask(command: Command): Promise<number> {
    return new Promise((resolve, reject) => {
      const failed = (code: number | null) =>
        reject(new Error(`the raw decoder's process ended with ${code}`));
      this.#child.once('exit', failed);
      this.#child.once('message', (ms: number) => {
        this.#child.off('exit', failed);
        resolve(ms);
      });
      this.#child.send(command);
    });
  }
}

function serveParent(): void {
  let decoder: RawDecoder | undefined;
  process.on('message', (command: Command) => {
    const start = performance.now();
    if ('open' in command) {
      const { model, rows, capacity, context, threads } = command.open;
      decoder = new RawDecoder(model, rows, capacity, context, threads);
    } else {
      for (let step = 0; step < command.steps; step++) decoder?.step();
    }
    process.send?.(performance.now() - start);
  });
  process.on('disconnect', () => decoder?.release());
}

if (process.argv[2] === 'raw-decoder' && process.send) serveParent();
