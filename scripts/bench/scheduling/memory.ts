/**
 * A load that wants three times the KV cache's memory: every request completes, outputs are those of
 * an undisturbed run, and the memory really used (pages of the cache that are resident, sampled after
 * every step) stays within the budget.
 *
 *   npx tsx scripts/bench/scheduling/memory.ts [--requests 24] [--json]
 */
import { parseArgs } from 'node:util';
import { engineRequest } from '../../../test/support/engine-requests.ts';
import { residentCacheBytes } from '../../../test/support/resident-cache.ts';
import { openBenchEngine, serve } from '../lib/engine-driver.ts';
import { machineShape } from '../lib/machine.ts';
import { Draws } from '../lib/random.ts';
import { printTable } from '../lib/table.ts';

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '24' },
    json: { type: 'boolean', default: false },
  },
});
const MAX_NUM_SEQS = 8;
/** 2 x 30 layers x 3 heads x 64 x 4 bytes. */
const BYTES_PER_TOKEN = 46_080;
const draws = new Draws(5);
const arrivals = Array.from({ length: Number(values.requests) }, (_, index) => ({
  atMs: 0,
  request: engineRequest({
    id: index + 1,
    promptTokenIds: draws.tokenIds(64 + draws.integer(128)),
    maxTokens: 96 + draws.integer(64),
  }),
}));
/** Memory of eight sequences when all are at their longest. */
const wantedBytes =
  MAX_NUM_SEQS *
  BYTES_PER_TOKEN *
  Math.max(...arrivals.map(({ request }) => request.promptTokenIds.length + request.maxTokens));
const kvCacheMemory = Math.floor(wantedBytes / 3);

async function run(memory: number) {
  const opened = await openBenchEngine({
    maxNumSeqs: MAX_NUM_SEQS,
    kvCacheMemory: memory,
    maxModelLen: 512,
    prefixCaching: true,
  });
  let peakBytes = 0;
  let steps = 0;
  const step = opened.engine.step.bind(opened.engine);
  opened.engine.step = () => {
    const outputs = step();
    if (++steps % 4 === 0) peakBytes = Math.max(peakBytes, residentCacheBytes());
    return outputs;
  };
  const served = await serve(opened, arrivals);
  const { numPreemptions } = opened.engine.stats;
  opened.decoder.release();
  return { served, numPreemptions, peakBytes };
}

const undisturbed = await run(8 * 2 ** 30);
const scarce = await run(kvCacheMemory);
const identical = arrivals.filter(
  ({ request: { id } }) =>
    scarce.served.get(id)?.tokenIds.join() === undisturbed.served.get(id)?.tokenIds.join(),
).length;
const result = {
  requests: arrivals.length,
  completed: scarce.served.size,
  identical,
  budgetBytes: kvCacheMemory,
  peakBytes: scarce.peakBytes,
  peakBytesUndisturbed: undisturbed.peakBytes,
  numPreemptions: scarce.numPreemptions,
};

if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), ...result }));
} else {
  const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
  console.log(`${machineShape()}; ${MAX_NUM_SEQS} rows, budget a third of what they want\n`);
  printTable(
    ['completed', 'identical', 'budget', 'peak', 'peak without budget', 'preemptions'],
    [
      [
        `${result.completed}/${result.requests}`,
        `${identical}/${result.requests}`,
        mebibytes(result.budgetBytes),
        mebibytes(result.peakBytes),
        mebibytes(result.peakBytesUndisturbed),
        String(result.numPreemptions),
      ],
    ],
  );
}
