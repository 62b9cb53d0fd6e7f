import { threadId } from 'node:worker_threads';

/** Waits until two tasks have come. @returns the thread that ran it */
export default function run(arrived: Int32Array): number {
  Atomics.add(arrived, 0, 1);
  Atomics.notify(arrived, 0);
  while (Atomics.load(arrived, 0) < 2) Atomics.wait(arrived, 0, 1);
  return threadId;
}
