/** Fuzzes one target, in a thread that can be ended in the middle of anything. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';
import { inputsOf } from './corpus.ts';
import { Fuzzer } from './fuzzer.ts';
import { targetOf } from './targets.ts';

export interface FuzzJob {
  readonly target: string;
  readonly seconds: number;
  readonly seed: number;
  readonly maxKeptBytes: number;
  /** In place of the corpus. */
  readonly inputs: readonly Uint8Array[] | null;
  /** How many inputs have begun, the last one's length, and its bytes. */
  readonly current: SharedArrayBuffer;
}

const { current, ...job } = workerData as FuzzJob;
const target = await targetOf(job.target);

const numbers = new Int32Array(current, 0, 2);
const bytes = new Uint8Array(current, 8);
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const fuzzer = new Fuzzer(target, {
  ...job,
  inputs: job.inputs?.map((input) => Buffer.from(input)) ?? inputsOf(target),
  collectGarbage,
  begins: (input) => {
    bytes.set(input.subarray(0, bytes.length));
    numbers[1] = input.length;
    Atomics.add(numbers, 0, 1);
  },
});
parentPort?.postMessage(await fuzzer.run(), []);
