/**
 * Time to first token of a prompt of 1,000 tokens, and of a second that shares 900 of them.
 *
 *   npx tsx scripts/bench/scheduling/prefix.ts [--rounds 5] [--json]
 */
import { parseArgs } from 'node:util';
import { engineRequest } from '../../../test/support/engine-requests.ts';
import { openBenchEngine, serve } from '../lib/engine-driver.ts';
import { machineShape } from '../lib/machine.ts';
import { Draws } from '../lib/random.ts';
import { median, printTable } from '../lib/table.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '5' }, json: { type: 'boolean', default: false } },
});
const opened = await openBenchEngine({ prefixCaching: true });
const draws = new Draws(3);
let id = 0;

async function ttft(promptTokenIds: Int32Array): Promise<{ ms: number; cached: number }> {
  const request = engineRequest({ id: ++id, promptTokenIds, maxTokens: 4 });
  const served = await serve(opened, [{ atMs: 0, request }]);
  const { ttftMs = NaN, numCachedTokens = 0 } = served.get(id) ?? {};
  return { ms: ttftMs, cached: numCachedTokens };
}

// Warms up the session.
await ttft(draws.tokenIds(1000));
const rounds: { first: number; second: number; cached: number }[] = [];
for (let round = 0; round < Number(values.rounds); round++) {
  const shared = draws.tokenIds(900);
  const first = await ttft(Int32Array.of(...shared, ...draws.tokenIds(100)));
  const second = await ttft(Int32Array.of(...shared, ...draws.tokenIds(100)));
  rounds.push({ first: first.ms, second: second.ms, cached: second.cached });
}
opened.decoder.release();

if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), rounds }));
} else {
  const [first, second] = [median(rounds.map((r) => r.first)), median(rounds.map((r) => r.second))];
  console.log(`${machineShape()}; prompts of 1,000 tokens, 900 in common\n`);
  printTable(
    ['', 'TTFT, ms', 'cached tokens', 'ratio'],
    [
      ['first', first.toFixed(0), '0', ''],
      [
        'second',
        second.toFixed(0),
        String(median(rounds.map((r) => r.cached))),
        `${median(rounds.map((r) => r.second / r.first)).toFixed(3)}x`,
      ],
    ],
  );
}
