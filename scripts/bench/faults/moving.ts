/**
 * Two replicas and 16 streams (half greedy, half seeded) on the first: it is killed with its engine
 * (SIGKILL), and clients go on with `resumableStream`; then it shuts down (SIGTERM) and hands its
 * streams over. Whether the texts are those of an undisturbed run, and each stream's longest gap.
 *
 *   npm run build && npx tsx scripts/bench/faults/moving.ts [--precision fp32] [--model summit|smollm2-135m]
 *     [--tokens 300] [--json]
 */
import { parseArgs } from 'node:util';
import OpenAI from 'openai';
import { resumableStream } from '../../../src/client/resumable-stream.ts';
import { childrenOf, killNow } from '../../../test/support/processes.ts';
import { type ServerProcess, startServer } from '../../../test/support/server-process.ts';
import { machineShape } from '../lib/machine.ts';
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
const TOKENS = Number(values.tokens);

const stories = Array.from({ length: STREAMS }, (_, index) => ({
  model: values.model,
  stream: true as const,
  prompt: `Once upon a time, number ${index} went out`,
  max_tokens: TOKENS,
  ignore_eos: true,
  ...(index % 2 === 0 ? { temperature: 0 } : { temperature: 0.9, seed: index }),
}));

const shape =
  values.model === 'summit'
    ? []
    : [`--model=${values.model}`, '--random-weights=1', '--max-model-len=1024'];

function startReplica(...flags: string[]): Promise<ServerProcess> {
  const key = 'a key of all replicas';
  return startServer([
    NO_DRAFTS,
    ...shape,
    '--precision',
    values.precision,
    '--resume-key',
    key,
    ...flags,
  ]);
}

/** The first replica that answers, as a load balancer does it. */
function balanced(...replicas: ServerProcess[]): typeof fetch {
  return async (input, init) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input);
    for (const { url } of replicas) {
      try {
        return await fetch(new URL(pathname, url), init);
      } catch {
        // Gone: the next one.
      }
    }
    throw new Error('no replica is there');
  };
}

interface Outcome {
  readonly texts: readonly string[];
  readonly gaps: readonly number[];
}

/** @param disturb called once every stream has come through a third */
async function run(fetch: typeof globalThis.fetch, disturb: () => void): Promise<Outcome> {
  const client = new OpenAI({ baseURL: 'http://replicas/v1', apiKey: 'none', fetch });
  const begun = new Set<number>();
  const gaps: number[] = [];
  const texts = await Promise.all(
    stories.map(async (story, index) => {
      let text = '';
      let pieces = 0;
      let before: number | undefined;
      let longest = 0;
      for await (const chunk of await client.completions.create(story)) {
        text += chunk.choices[0]?.text ?? '';
        const now = performance.now();
        longest = Math.max(longest, before === undefined ? 0 : now - before);
        before = now;
        if (++pieces < TOKENS / 3 || begun.has(index)) continue;
        begun.add(index);
        if (begun.size === STREAMS) disturb();
      }
      gaps.push(longest);
      return text;
    }),
  );
  return { texts, gaps };
}

async function killed(): Promise<Outcome> {
  const [first, second] = [await startReplica(), await startReplica()];
  const fetch = resumableStream({ fetch: balanced(first, second) });
  const outcome = await run(fetch, () => {
    for (const engine of childrenOf(first.child.pid)) killNow(engine);
    first.child.kill('SIGKILL');
  });
  await second.stop();
  return outcome;
}

async function drained(): Promise<Outcome> {
  const second = await startReplica();
  const first = await startReplica('--handover-to', second.url);
  let stopped: Promise<unknown> | undefined;
  const outcome = await run(balanced(first), () => {
    stopped = first.stop();
  });
  await stopped;
  await second.stop();
  return outcome;
}

const alone = await startReplica();
const undisturbed = await run(balanced(alone), () => {});
await alone.stop();
const outcomes = { undisturbed, killed: await killed(), 'handed over': await drained() };

const results = Object.entries(outcomes).map(([what, { texts, gaps }]) => ({
  what,
  identical: texts.filter((text, index) => text === undisturbed.texts[index]).length,
  gapP50: median([...gaps]),
  gapMax: Math.max(...gaps),
}));
if (values.json) {
  console.log(JSON.stringify({ machine: machineShape(), ...values, streams: STREAMS, results }));
} else {
  console.log(
    `${machineShape()}; ${values.model}, ${values.precision}, ${STREAMS} streams of ${TOKENS} tokens\n`,
  );
  printTable(
    ['replica', 'identical texts', 'longest gap, p50, ms', 'max'],
    results.map(({ what, identical, gapP50, gapMax }) => [
      what,
      `${identical}/${STREAMS}`,
      gapP50.toFixed(0),
      gapMax.toFixed(0),
    ]),
  );
}
