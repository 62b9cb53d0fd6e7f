/**
 * Worth of a model's warm-up: the time to the first token of the first request, and of the tenth,
 * with each of its modes, and what it adds to the start. Modes take turns.
 *
 *   npm run build && npx tsx scripts/bench/warm-up.ts [--model smollm2-135m --random-weights 1] [--rounds 3]
 */
import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';
import { addressOf } from './lib/server-address.ts';
import { median } from './lib/table.ts';

const MODES = ['off', 'quick', 'full'] as const;
const PROMPT = 'Once upon a time there was a fox that wanted to see the sea. '.repeat(12);

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    model: { type: 'string' },
    'random-weights': { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const modelFlags = [
  ...(values.model === undefined ? [] : ['--model', values.model]),
  ...(values['random-weights'] === undefined ? [] : ['--random-weights', values['random-weights']]),
];

interface Sample {
  readonly startMs: number;
  readonly firstMs: number;
  readonly tenthMs: number;
}
const samples = new Map<string, Sample[]>(MODES.map((mode) => [mode, []]));
for (let round = 0; round < Number(values.rounds); round++) {
  for (const mode of MODES) samples.get(mode)?.push(await measure(mode));
}
const rows = MODES.map((mode) => {
  const of = samples.get(mode) ?? [];
  const middle = (name: keyof Sample) => Math.round(median(of.map((sample) => sample[name])));
  return { mode, start: middle('startMs'), first: middle('firstMs'), tenth: middle('tenthMs') };
});
console.log('| --warmup | ready after ms | first request: TTFT ms | tenth: TTFT ms |');
console.log('| --- | ---: | ---: | ---: |');
for (const { mode, start, first, tenth } of rows) {
  console.log(`| ${mode} | ${start} | ${first} | ${tenth} |`);
}
if (values.json) console.log(JSON.stringify(rows));

// First tokens alone are timed, which no draft makes faster.
async function measure(mode: string): Promise<Sample> {
  const startedAt = performance.now();
  const server = spawn(
    process.execPath,
    [
      'dist/cli/main.js',
      'serve',
      '--port',
      '0',
      '--log-level',
      'warn',
      '--warmup',
      mode,
      ...modelFlags,
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  try {
    const url = await addressOf(server);
    const startMs = performance.now() - startedAt;
    const times: number[] = [];
    for (let turn = 0; turn < 10; turn++) times.push(await timeToFirstToken(url, turn));
    return { startMs, firstMs: times[0] ?? NaN, tenthMs: times[9] ?? NaN };
  } finally {
    server.kill();
  }
}

/** Time of a prompt that is in no cache. */
async function timeToFirstToken(url: string, turn: number): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      prompt: `${turn} ${PROMPT}`,
      max_tokens: 8,
      stream: true,
      ignore_eos: true,
    }),
  });
  if (!response.ok || !response.body) throw new Error(await response.text());
  let firstAt: number | undefined;
  for await (const _ of response.body) firstAt ??= performance.now();
  return (firstAt ?? NaN) - startedAt;
}
