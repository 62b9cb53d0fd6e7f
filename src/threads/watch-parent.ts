/** A thread that ends its process when another one is gone: threads run while the main one computes. */
import { workerData } from 'node:worker_threads';
import { isAlive } from './is-alive.ts';

/** Milliseconds between two looks. */
const LOOK_MS = 200;

const parent: number = workerData;

setInterval(() => {
  // Windows still reports the id of a parent that is gone.
  if (process.ppid !== parent || !isAlive(parent)) process.kill(process.pid, 'SIGKILL');
}, LOOK_MS);
