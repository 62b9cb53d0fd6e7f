/**
 * Fuzzes what reads the bytes of strangers, guided by coverage: `test/fuzz/guided` has the targets, and
 * `test/fuzz/corpus` inputs that reach far.
 *
 *   npx tsx test/fuzz/guided/main.ts [--seconds 240] [--target NAME]... [--seed N] [--keep]
 *   npx tsx test/fuzz/guided/main.ts --target NAME --replay FILE
 *
 * The seconds are shared by the targets. What is found is written to the folder `.cache/fuzz`, a file each,
 * and the exit code is 1. --keep puts the best inputs in place of the corpus.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { startThread } from '../../../src/threads/start-thread.ts';
import { keep } from './corpus.ts';
import type { Finding, FuzzResult } from './fuzzer.ts';
import { TARGET_NAMES } from './targets.ts';
import type { FuzzJob } from './worker.ts';

/** CPU time of this process while one input is run: of what was a hang on any machine. */
const HANG_CPU_SECONDS = 20;
const LOOK_MS = 1000;
const MAX_INPUT_BYTES = 65_536;
/** Most bytes of the corpus of one target. */
const MAX_KEPT_BYTES = 24_576;
const MEMORY = { maxOldGenerationSizeMb: 1024 };
const FOUND = '.cache/fuzz';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '240' },
    target: { type: 'string', multiple: true },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    keep: { type: 'boolean', default: false },
    replay: { type: 'string' },
  },
});

/** @returns what was found of a target, a hang or the end of the memory included */
async function fuzz(job: Omit<FuzzJob, 'current'>): Promise<FuzzResult> {
  const current = new SharedArrayBuffer(8 + MAX_INPUT_BYTES);
  const numbers = new Int32Array(current, 0, 2);
  const data: FuzzJob = { ...job, current };
  const worker = startThread(new URL('worker.js', import.meta.url), data, MEMORY);
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise((resolve) => {
      const end = (what: string): void => {
        const input = new Uint8Array(
          current,
          8,
          Math.min(MAX_INPUT_BYTES, numbers[1] ?? 0),
        ).slice();
        const cases = Atomics.load(numbers, 0);
        resolve({
          cases,
          kept: [],
          findings: [{ what, input }],
          reached: { functions: 0, share: 0 },
        });
      };
      worker.on('message', resolve);
      worker.on('error', (error) => {
        end(`the thread ended: ${error.message}`);
      });
      let last = -1;
      let since = process.cpuUsage();
      timer = setInterval(() => {
        const cases = Atomics.load(numbers, 0);
        if (cases !== last) since = process.cpuUsage();
        last = cases;
        if (process.cpuUsage(since).user > HANG_CPU_SECONDS * 1e6)
          end(`it takes over ${HANG_CPU_SECONDS} s`);
      }, LOOK_MS);
    });
  } finally {
    clearInterval(timer);
    await worker.terminate();
  }
}

function tell(target: string, { what, input }: Finding, index: number): void {
  mkdirSync(FOUND, { recursive: true });
  const file = `${FOUND}/${target}-${index}`;
  writeFileSync(file, input);
  console.log(
    `*** ${target}: ${what}\n    --target ${target} --replay ${file} (${input.length} bytes)`,
  );
}

const seed = Number(values.seed);
const targets = values.target ?? TARGET_NAMES;
const seconds = values.replay === undefined ? Number(values.seconds) / targets.length : 0;
const inputs = values.replay === undefined ? null : [readFileSync(values.replay)];
console.log(`--seed ${seed}, ${seconds.toFixed(0)} s for each of ${targets.length} targets`);
let numCases = 0;
let numFound = 0;
for (const target of targets) {
  const result = await fuzz({ target, seconds, seed, inputs, maxKeptBytes: MAX_KEPT_BYTES });
  const { cases, kept, findings, reached } = result;
  const bytes = kept.reduce((sum, { length }) => sum + length, 0);
  console.log(
    `${target}: ${cases} cases, ${findings.length} findings; ${(100 * reached.share).toFixed(1)}% of ${reached.functions} functions executed; ${kept.length} inputs (${bytes} bytes) reach it`,
  );
  for (const [index, finding] of findings.entries()) tell(target, finding, index);
  if (values.keep && findings.length === 0) keep(target, kept);
  numCases += cases;
  numFound += findings.length;
}
console.log(`${numCases} cases, ${numFound} findings`);
process.exit(numFound > 0 ? 1 : 0);
