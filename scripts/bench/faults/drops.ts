/**
 * 200 streams opened and dropped after half a second, ten rounds: how soon nothing runs or waits any
 * more, how fast the next request is answered, and how resident memory of both processes goes.
 *
 *   npm run build && npx tsx scripts/bench/faults/drops.ts [--rounds 10] [--json]
 */
import { parseArgs } from 'node:util';
import { residentMiB } from '../../../test/hostile/support/resident.ts';
import { metric, post, stream } from '../../../test/support/http-client.ts';
import { childrenOf, until } from '../../../test/support/processes.ts';
import { startServer } from '../../../test/support/server-process.ts';
import { machineShape } from '../lib/machine.ts';
import { printTable } from '../lib/table.ts';
import { NO_DRAFTS } from '../lib/server-process.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '10' }, json: { type: 'boolean', default: false } },
});
const server = await startServer([NO_DRAFTS]);
const completions = `${server.url}/v1/completions`;
const body = { prompt: 'Once upon a time', max_tokens: 1500, ignore_eos: true };
const [engine] = childrenOf(server.child.pid);

async function idle(): Promise<boolean> {
  const running = await metric(server.url, 'chairlift_num_requests_running');
  const waiting = await metric(server.url, 'chairlift_num_requests_waiting');
  return running === 0 && waiting === 0;
}

const rounds = [];
for (let round = 1; round <= Number(values.rounds); round++) {
  const dropped = Array.from({ length: 200 }, async () => {
    const signal = AbortSignal.timeout(500);
    const response = await post(completions, { ...body, stream: true }, signal).catch(() => null);
    await response?.text().catch(() => {});
  });
  await Promise.all(dropped);
  const start = performance.now();
  await until(idle, 'running and waiting at 0', 10_000);
  const idleMs = performance.now() - start;
  const asked = performance.now();
  let firstMs = 0;
  await stream(
    completions,
    { ...body, max_tokens: 8 },
    () => (firstMs ||= performance.now() - asked),
  );
  rounds.push({
    round,
    idleMs,
    firstMs,
    frontMiB: residentMiB(server.child.pid),
    engineMiB: residentMiB(engine),
  });
}
await server.stop();

if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), rounds }));
} else {
  console.log(`${machineShape()}; summit, 200 streams dropped after 0.5 s\n`);
  printTable(
    ['round', 'all forgotten after, ms', 'next first token, ms', 'front, MiB', 'engine, MiB'],
    rounds.map((r) => [
      String(r.round),
      r.idleMs.toFixed(0),
      r.firstMs.toFixed(0),
      r.frontMiB.toFixed(0),
      r.engineMiB.toFixed(0),
    ]),
  );
}
