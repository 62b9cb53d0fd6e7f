/** A contender in a process of its own, which is stopped while others have their turn. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { BatchTimes, Contender, Setup, Work } from './contender.ts';
import { ENTRIES, type Entry, REAL_ENTRIES } from './contenders.ts';

type Command =
  | { readonly type: 'open'; readonly name: string; readonly setup: Setup }
  | { readonly type: 'batch' | 'serve'; readonly work: readonly Work[] };

type Answer =
  | { readonly type: 'opened'; readonly serves: boolean }
  | { readonly type: 'batch'; readonly times: BatchTimes }
  | { readonly type: 'served'; readonly ms: number }
  | { readonly type: 'failed'; readonly message: string };

const SELF = fileURLToPath(import.meta.url);

export class ContenderProcess {
  readonly name: string;
  readonly #child: ChildProcess;
  #serves = false;

  private constructor(name: string) {
    this.name = name;
    this.#child = fork(SELF, ['contender']);
  }

  static async open(entry: Entry, setup: Omit<Setup, 'precision'>): Promise<ContenderProcess> {
    const contender = new ContenderProcess(entry.name);
    const { precision, name } = entry;
    const answer = await contender.#ask({ type: 'open', name, setup: { ...setup, precision } });
    contender.#serves = answer.type === 'opened' && answer.serves;
    return contender;
  }

  async batch(work: readonly Work[]): Promise<BatchTimes> {
    const answer = await this.#ask({ type: 'batch', work });
    if (answer.type !== 'batch') throw new Error(`${this.name} answered ${answer.type}`);
    return answer.times;
  }

  /** Milliseconds; null where the library can't. */
  async serve(work: readonly Work[]): Promise<number | null> {
    if (!this.#serves) return null;
    const answer = await this.#ask({ type: 'serve', work });
    if (answer.type !== 'served') throw new Error(`${this.name} answered ${answer.type}`);
    return answer.ms;
  }

  async close(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGCONT');
    this.#child.disconnect();
    await exited;
  }

  async #ask(command: Command): Promise<Answer> {
    const answer = await new Promise<Answer>((resolve, reject) => {
      const failed = (code: number | null, signal: string | null) =>
        reject(new Error(`${this.name} ended with ${code ?? signal}`));
      this.#child.once('exit', failed);
      this.#child.once('message', (message: Answer) => {
        this.#child.off('exit', failed);
        resolve(message);
      });
      // Idle threads of some libraries go on waiting for work in a loop.
      this.#child.kill('SIGCONT');
      this.#child.send(command);
    });
    this.#child.kill('SIGSTOP');
    if (answer.type === 'failed') throw new Error(`${this.name}: ${answer.message}`);
    return answer;
  }
}

function serveParent(): void {
  let contender: Contender | undefined;
  const answerTo = async (command: Command): Promise<Answer> => {
    if (command.type === 'open') {
      const entries = command.setup.gguf === null ? ENTRIES : REAL_ENTRIES;
      const entry = entries.find(({ name }) => name === command.name);
      if (!entry) throw new Error('there is no such contender');
      const open = await entry.load();
      contender = await open(command.setup);
      return { type: 'opened', serves: contender.serve !== null };
    }
    if (!contender) throw new Error('it is not open');
    if (command.type === 'batch')
      return { type: 'batch', times: await contender.batch(command.work) };
    const start = performance.now();
    await contender.serve?.(command.work);
    return { type: 'served', ms: performance.now() - start };
  };
  process.on('message', (command: Command) => {
    answerTo(command).then(
      (answer) => process.send?.(answer),
      (error: unknown) => {
        const message = error instanceof Error ? error.message : String(error);
        process.send?.({ type: 'failed', message } satisfies Answer);
      },
    );
  });
  // Libraries keep timers and threads of their own: nothing else ends the process.
  process.on('disconnect', () => process.exit(0));
}

if (process.argv[2] === 'contender' && process.send) serveParent();
