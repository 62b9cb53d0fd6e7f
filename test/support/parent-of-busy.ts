import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { forkModule } from '../../src/threads/fork-module.ts';

// Starts a child that computes forever, and prints its id once it does.
const [, , way] = process.argv;
const child =
  way === 'forkModule'
    ? forkModule(new URL('./busy-child.ts', import.meta.url), [
        'ignore',
        'ignore',
        'inherit',
        'ipc',
      ])
    : fork(fileURLToPath(new URL('./busy-watched-child.ts', import.meta.url)), {
        execArgv: ['--import', 'tsx'],
      });
child.once('message', () => console.log(child.pid));
