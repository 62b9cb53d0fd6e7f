/**
 * kill -9 of the engine process in the middle of 16 streams (half greedy, half seeded), three times
 * in a run: whether the texts are those of an undisturbed run, and the longest gap that a client
 * sees, with the KV cache computed again and with --durable-kv.
 *
 *   npm run build && npx tsx scripts/bench/faults/crash.ts [--precision fp32] [--model summit|smollm2-135m|FOLDER]
 *     [--tokens 300] [--json]
 */
import { parseArgs } from 'node:util';
import { stream } from '../../../test/support/http-client.ts';
import { childrenOf } from '../../../test/support/processes.ts';
import { machineShape } from '../lib/machine.ts';
import { startServer } from '../../../test/support/server-process.ts';
import { median, printTable } from '../lib/table.ts';
import { NO_DRAFTS } from '../lib/server-process.ts';

const { values } = parseArgs({
  options: {
    precision: { type: 'string', default: 'fp32' },
    model: { type: 'string', default: 'summit' },
    tokens: { type: 'string', default: '300' },
    json: { type: 'boolean', default: false },
  },
});
const STREAMS = 16;
const KILLS = 3;
const TOKENS = Number(values.tokens);
const KILL_EVERY = Math.floor((STREAMS * TOKENS) / (KILLS + 1));

const bodies = Array.from({ length: STREAMS }, (_, index) => ({
  prompt: `Once upon a time, number ${index} went out`,
  max_tokens: TOKENS,
  ignore_eos: true,
  ...(index % 2 === 0 ? { temperature: 0 } : { temperature: 0.9, seed: index }),
}));

/** Streams all at once; kills the engine after every so many pieces of text. */
async function run(url: string, pid: number | undefined, kills: number) {
  let pieces = 0;
  let killed = 0;
  const gaps: number[] = [];
  const texts = await Promise.all(
    bodies.map(async (body) => {
      let before: number | undefined;
      let longest = 0;
      const result = await stream(`${url}/v1/completions`, body, () => {
        const now = performance.now();
        longest = Math.max(longest, before === undefined ? 0 : now - before);
        before = now;
        if (++pieces % KILL_EVERY !== 0 || killed === kills) return;
        const [engine] = childrenOf(pid);
        if (engine === undefined) return;
        killed++;
        process.kill(engine, 'SIGKILL');
      });
      gaps.push(longest);
      return result.done && result.finishReason === 'length' ? result.text : null;
    }),
  );
  return { texts, killed, longestGapMs: Math.max(...gaps), medianGapMs: median(gaps) };
}

const shapes: Readonly<Record<string, readonly string[]>> = {
  summit: [],
  'smollm2-135m': ['--model=smollm2-135m', '--random-weights=1', '--max-model-len=1024'],
};
const shape = shapes[values.model] ?? [`--model=${values.model}`, '--max-model-len=1024'];
const results = [];
// A folder's model may have layers with states, which --durable-kv does not keep.
for (const durable of values.model in shapes ? [false, true] : [false]) {
  const flags = [
    NO_DRAFTS,
    ...shape,
    `--precision=${values.precision}`,
    ...(durable ? ['--durable-kv'] : []),
  ];
  const server = await startServer(flags);
  const undisturbed = await run(server.url, server.child.pid, 0);
  const disturbed = await run(server.url, server.child.pid, KILLS);
  await server.stop();
  const identical = disturbed.texts.filter(
    (text, index) => text !== null && text === undisturbed.texts[index],
  ).length;
  results.push({
    durable,
    kills: disturbed.killed,
    identical,
    longestGapMs: disturbed.longestGapMs,
    undisturbedGapMs: undisturbed.longestGapMs,
  });
}

if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), ...values, results }));
} else {
  console.log(
    `${machineShape()}; ${values.model}, ${values.precision}, ${STREAMS} streams of ${TOKENS} tokens\n`,
  );
  printTable(
    ['KV cache', 'kills', 'identical texts', 'longest gap, ms', 'without kills'],
    results.map((r) => [
      r.durable ? '--durable-kv' : 'computed again',
      String(r.kills),
      `${r.identical}/${STREAMS}`,
      r.longestGapMs.toFixed(0),
      r.undisturbedGapMs.toFixed(0),
    ]),
  );
}
