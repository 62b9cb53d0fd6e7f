/**
 * Three replicas behind HAProxy (Debian: haproxy) with the configuration in deploy/haproxy:
 *
 * - throughput and fairness at one, two and three replicas, by `chairlift bench`
 * - how much of conversations' prompts is found in the prefix caches, with affinity and without
 * - streams while one replica is added, one drained and one killed: of clients that only read, and of
 *   clients that resume
 *
 *   npm run build && npx tsx scripts/bench/replicas.ts [--prompts 120] [--json]
 *
 * Here the replicas share the cores, so more of them are not faster. With --json the last line is the
 * outcome of the streams
 * that are resumed: `{"streams", "identical", "failed", "cut", "longestGapMs"}`.
 */
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import { HAPROXY } from '../../test/support/needs.ts';
import { machineShape } from './lib/machine.ts';
import { printTable } from './lib/table.ts';
import { prefixHits } from './replicas/prefix.ts';
import { plainReader, resumingReader, streamsUnderChanges } from './replicas/streams.ts';
import { throughputOf } from './replicas/throughput.ts';
import { NO_DRAFTS } from './lib/server-process.ts';

const { values } = parseArgs({
  options: {
    prompts: { type: 'string', default: '120' },
    json: { type: 'boolean', default: false },
  },
});
if (!HAPROXY.isThere) throw new Error('there is no haproxy here (Debian: apt-get install haproxy)');
const options = { args: ['--threads=1', NO_DRAFTS] };

const throughput = [];
for (const names of [['one'], ['one', 'two'], ['one', 'two', 'three']] as const) {
  throughput.push(await throughputOf(names, options, Number(values.prompts)));
}
const prefix = [await prefixHits(options, true), await prefixHits(options, false)];
const resumable = { args: [...options.args, `--resume-key=${randomUUID()}`] };
const plain = await streamsUnderChanges(resumable, plainReader);
const resumed = await streamsUnderChanges(resumable, resumingReader);

if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), throughput, prefix, plain }));
  console.log(JSON.stringify(resumed));
} else {
  console.log(`${machineShape()}; summit, a thread for each replica\n`);
  printTable(
    ['replicas', 'completed', 'failed', 'tokens/s', 'TTFT p99, ms', 'served by each', 'fairness'],
    throughput.map((each) => [
      String(each.replicas),
      String(each.completed),
      String(each.failed),
      each.outputTokensPerSecond.toFixed(0),
      each.p99TtftMs.toFixed(0),
      each.served.join(', '),
      each.fairness.toFixed(3),
    ]),
  );
  console.log('');
  printTable(
    ['affinity', 'requests', 'failed', 'prefix hits', 'mean, ms'],
    prefix.map((each) => [
      each.affinity ? 'by prefix' : 'none',
      String(each.requests),
      String(each.failed),
      `${(100 * each.hitRate).toFixed(1)}%`,
      each.meanMs.toFixed(0),
    ]),
  );
  console.log('\nOne replica added, one drained, one killed:\n');
  printTable(
    ['clients', 'streams', 'identical', 'failed', 'cut', 'longest gap, ms'],
    Object.entries({ 'only read': plain, resume: resumed }).map(([name, each]) => [
      name,
      String(each.streams),
      String(each.identical),
      String(each.failed),
      String(each.cut),
      each.longestGapMs.toFixed(0),
    ]),
  );
}
