/** Does what a test tells it. */
import { serveTasks } from '../../../src/threads/serve-tasks.ts';

export interface Told {
  readonly do: 'answer' | 'throw' | 'crash' | 'compute forever' | 'take memory' | 'tell and wait';
  /** Milliseconds. */
  readonly waitMs?: number;
}

const taken: Buffer[] = [];

serveTasks(async (task, send): Promise<number> => {
  const told = task as Told;
  switch (told.do) {
    case 'answer':
      return process.pid;
    case 'throw':
      throw new Error('no such number');
    case 'crash':
      process.kill(process.pid, 'SIGSEGV');
      return await new Promise(() => {});
    case 'compute forever':
      for (;;);
    case 'tell and wait':
      await send(process.pid);
      await new Promise((resolve) => setTimeout(resolve, told.waitMs));
      return process.pid;
    case 'take memory':
      for (;;) {
        taken.push(Buffer.alloc(2 ** 24, 1));
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
  }
});
