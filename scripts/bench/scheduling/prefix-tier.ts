/**
 * Time to first token of a prompt: computed, and with all of it but the last block beyond the KV cache, in
 * memory and in a folder that another engine filled (a restart; the system has the files in its cache).
 *
 *   npx tsx scripts/bench/scheduling/prefix-tier.ts [--tokens 4096] [--rounds 3] [--precision int8] [--json]
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { PrefixTierLimits } from '../../../src/engine/prefix-tier/open-tier.ts';
import type { OpenedEngine } from '../../../src/engine/process/open-engine.ts';
import type { Precision } from '../../../src/model/manifest.ts';
import { engineRequest } from '../../../test/support/engine-requests.ts';
import { openBenchEngine } from '../lib/engine-driver.ts';
import { machineShape } from '../lib/machine.ts';
import { Draws } from '../lib/random.ts';
import { median, printTable } from '../lib/table.ts';

const { values } = parseArgs({
  options: {
    tokens: { type: 'string', default: '4096' },
    rounds: { type: 'string', default: '3' },
    precision: { type: 'string', default: 'fp32' },
    json: { type: 'boolean', default: false },
  },
});
const numTokens = Number(values.tokens);
const draws = new Draws(3);
const path = await mkdtemp(join(tmpdir(), 'chairlift-bench-'));
const folder = { path, maxBytes: 2 ** 34, maxAgeMs: 3_600_000 };
let id = 0;

const openWith = (prefixTier: PrefixTierLimits | null): Promise<OpenedEngine> => {
  const limits = { maxNumSeqs: 1, maxModelLen: numTokens + 64, prefixCaching: true };
  return openBenchEngine({ ...limits, prefixTier }, values.precision as Precision);
};

/** The first token of a prompt, with what was found of it. */
async function ttft({ engine, tier }: OpenedEngine, promptTokenIds: Int32Array) {
  const startedAt = performance.now();
  const request = engineRequest({ id: ++id, promptTokenIds, maxTokens: 1 });
  await tier?.fetch(request);
  engine.add(request);
  let cached = 0;
  while (engine.hasWork) for (const output of engine.step()) cached = output.numCachedTokens ?? 0;
  const ms = performance.now() - startedAt;
  await tier?.settle();
  return { ms, cached };
}

const cases: Record<'computed' | 'memory' | 'folder', { ms: number; cached: number }[]> = {
  computed: [],
  memory: [],
  folder: [],
};
for (let round = 0; round < Number(values.rounds); round++) {
  const prompt = draws.tokenIds(numTokens);
  const first = await openWith({ memoryBytes: 2 ** 32, folder });
  // Warms up the session, and tells the cost model what prompts cost.
  await ttft(first, draws.tokenIds(1000));
  cases.computed.push(await ttft(first, prompt));
  // Two texts need both slots.
  for (let other = 0; other < 2; other++) await ttft(first, draws.tokenIds(200));
  cases.memory.push(await ttft(first, prompt));
  first.decoder.release();
  const restarted = await openWith({ memoryBytes: 0, folder });
  await ttft(restarted, draws.tokenIds(1000));
  cases.folder.push(await ttft(restarted, prompt));
  restarted.decoder.release();
}
await rm(path, { recursive: true });

if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), numTokens, cases }));
} else {
  console.log(`${machineShape()}; prompts of ${numTokens} tokens, ${values.precision}\n`);
  const computedMs = median(cases.computed.map(({ ms }) => ms));
  printTable(
    ['prompt', 'TTFT, ms', 'cached tokens', 'ratio'],
    Object.entries(cases).map(([name, rounds]) => {
      const ms = median(rounds.map((round) => round.ms));
      const cached = String(median(rounds.map((round) => round.cached)));
      return [name, ms.toFixed(0), cached, `${(ms / computedMs).toFixed(3)}x`];
    }),
  );
}
