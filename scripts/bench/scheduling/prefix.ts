/**
 * Time to first token of a prompt of 1,000 tokens by how much of it two other prompts had: nothing, a half, 90%, 95%.
 * Two, since a model whose layers have states keeps one where two texts part. The SmolLM2-135M shape with random weights, or a model's folder.
 *
 *   npx tsx scripts/bench/scheduling/prefix.ts [--model FOLDER] [--precision fp32] [--rounds 5] [--json]
 */
import { parseArgs } from 'node:util';
import { engineRequest } from '../../../test/support/engine-requests.ts';
import { requirePrecision } from '../lib/bench-model.ts';
import { openBenchEngine, serve } from '../lib/engine-driver.ts';
import { machineShape } from '../lib/machine.ts';
import { Draws } from '../lib/random.ts';
import { median, printTable } from '../lib/table.ts';

const { values } = parseArgs({
  options: {
    model: { type: 'string' },
    precision: { type: 'string', default: 'fp32' },
    rounds: { type: 'string', default: '5' },
    json: { type: 'boolean', default: false },
  },
});
const TOKENS = 1000;
const SHARES = [0, 0.5, 0.9, 0.95];

const precision = requirePrecision(values.precision);
const opened = await openBenchEngine({ prefixCaching: true }, precision, values.model ?? null);
const draws = new Draws(3);
let id = 0;

async function ttft(promptTokenIds: Int32Array): Promise<{ ms: number; cached: number }> {
  const request = engineRequest({ id: ++id, promptTokenIds, maxTokens: 4 });
  const served = await serve(opened, [{ atMs: 0, request }]);
  const { ttftMs = NaN, numCachedTokens = 0 } = served.get(id) ?? {};
  return { ms: ttftMs, cached: numCachedTokens };
}

// Warms up the session.
await ttft(draws.tokenIds(TOKENS));
const results = SHARES.map((share) => ({ share, ms: [] as number[], cached: [] as number[] }));
for (let round = 0; round < Number(values.rounds); round++) {
  const first = draws.tokenIds(TOKENS);
  await ttft(first);
  for (const { share, ms, cached } of results) {
    const shared = first.subarray(0, share * TOKENS);
    const like = () => Int32Array.of(...shared, ...draws.tokenIds(TOKENS - shared.length));
    await ttft(like());
    const measured = await ttft(like());
    ms.push(measured.ms);
    cached.push(measured.cached);
  }
}
opened.decoder.release();

if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), ...values, results }));
} else {
  console.log(`${machineShape()}; prompts of ${TOKENS} tokens, ${precision}\n`);
  const alone = results[0]?.ms ?? [];
  printTable(
    ['shared', 'TTFT, ms', 'cached tokens', 'ratio'],
    results.map(({ share, ms, cached }) => [
      `${100 * share}%`,
      median(ms).toFixed(0),
      String(median(cached)),
      `${median(ms.map((each, round) => each / (alone[round] ?? NaN))).toFixed(3)}x`,
    ]),
  );
}
