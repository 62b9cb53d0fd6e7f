/**
 * CPU time of a decode step of several models, by rows: with one thread, in turns, the median of all steps.
 * Other work on the machine makes a step longer by the clock, and changes its CPU time little.
 *
 *   npx tsx scripts/bench/variant-steps.ts [--rows 1,16] [--rounds 5] [--steps 40]
 *     models/summit:fp32 models/summit:int8 ./pruned:fp32
 */
import { parseArgs } from 'node:util';
import { buildVariant } from '../../src/cli/offline/compare.ts';
import { LockstepDecoder } from '../../src/eval/lockstep-decoder.ts';
import { parseVariant } from '../../src/eval/compare/variant.ts';
import { cpuMs } from './lib/process-time.ts';
import { median, printTable } from './lib/table.ts';

const { values, positionals: names } = parseArgs({
  allowPositionals: true,
  options: {
    rows: { type: 'string', default: '1,16' },
    rounds: { type: 'string', default: '5' },
    steps: { type: 'string', default: '40' },
  },
});
const rows = values.rows.split(',').map(Number);
const numSteps = Number(values.steps);
const capacity = 128;

/** Milliseconds of each step, at the end of a text of `capacity` tokens. */
function timeSteps(decoder: LockstepDecoder, count: number): number[] {
  return Array.from({ length: numSteps }, (_, index) => {
    const position = capacity - numSteps + index;
    const inputs = Array.from({ length: count }, (__, row) => ({ tokenId: 1 + row, position }));
    const before = cpuMs();
    decoder.step(inputs);
    return cpuMs() - before;
  });
}

const models: { readonly name: string; readonly decoder: LockstepDecoder; times: number[][] }[] =
  [];
for (const name of names) {
  const flags = { adapter: undefined, kvCacheDtype: 'auto', kernels: 'auto' } as const;
  const { built } = await buildVariant(parseVariant(name), flags);
  const decoder = new LockstepDecoder(built, { numSlots: Math.max(...rows), capacity, threads: 1 });
  for (const count of rows) timeSteps(decoder, count);
  models.push({ name, decoder, times: rows.map(() => []) });
}
for (let round = 0; round < Number(values.rounds); round++) {
  for (const { decoder, times } of models) {
    for (const [index, count] of rows.entries()) times[index]?.push(...timeSteps(decoder, count));
  }
}
printTable(
  ['model', ...rows.map((count) => `CPU ms, ${count} rows`)],
  models.map(({ name, times }) => [name, ...times.map((of) => median(of).toFixed(3))]),
);
for (const { decoder } of models) decoder.release();
