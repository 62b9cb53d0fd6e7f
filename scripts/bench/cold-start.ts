/**
 * How long a start takes, from a process to the first token of a chat: a server, and the function for
 * AWS Lambda that scripts/lambda/bundle.ts has gathered, each with and without what shortens it. Cases
 * take turns.
 *
 *   npx tsx scripts/bench/cold-start.ts [--runs 20] [--function .cache/lambda] [--node <program>] [--json]
 */
import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { LambdaFunction } from '../../test/support/lambda-function.ts';
import { stream } from '../../test/support/http-client.ts';
import { addressOf } from './lib/server-address.ts';
import { printTable } from './lib/table.ts';

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '20' },
    function: { type: 'string', default: '.cache/lambda' },
    node: { type: 'string', default: process.execPath },
    json: { type: 'boolean', default: false },
  },
});
const folder = resolve(values.function);
const model = { CHAIRLIFT_MODEL: join(folder, 'model'), CHAIRLIFT_CACHE: join(folder, 'cache') };
const question = {
  messages: [{ role: 'user', content: 'What is 23 + 45?' }],
  temperature: 0,
  max_tokens: 16,
};

const CASES: Readonly<Record<string, () => Promise<number>>> = {
  'chairlift serve': () => ofServer({}),
  'with --warmup off': () => ofServer({ CHAIRLIFT_WARMUP: 'off' }),
  'as a function, not packed': () => ofFunction('dist/lambda/handler.js', model),
  'packed, nothing compiled': () =>
    ofFunction(join(folder, 'index.mjs'), { NODE_DISABLE_COMPILE_CACHE: '1' }),
  'packed and compiled': () => ofFunction(join(folder, 'index.mjs'), {}),
};

/** Milliseconds to the first token, which no draft makes faster. */
async function ofServer(environment: NodeJS.ProcessEnv): Promise<number> {
  const startedAt = performance.now();
  const child = spawn(values.node, ['dist/cli/main.js', 'serve', '--port=0', '--log-level=warn'], {
    env: { ...process.env, ...model, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const url = await addressOf(child);
    return await new Promise<number>((done, reject) => {
      const first = () => done(performance.now() - startedAt);
      stream(`${url}/v1/chat/completions`, question, first).catch(reject);
    });
  } finally {
    child.kill('SIGKILL');
  }
}

/** Milliseconds. */
async function ofFunction(module: string, environment: NodeJS.ProcessEnv): Promise<number> {
  const startedAt = performance.now();
  const lambda = new LambdaFunction(module, environment, values.node);
  try {
    return await new Promise<number>((done, reject) => {
      const body = { ...question, stream: true };
      const take = (chunk: string) => {
        if (/"content":"[^"]/.test(chunk)) done(performance.now() - startedAt);
      };
      lambda.post('/v1/chat/completions', body, take).catch(reject);
    });
  } finally {
    await lambda.stop();
  }
}

const times = new Map(Object.keys(CASES).map((name): [string, number[]] => [name, []]));
for (let run = 0; run < Number(values.runs); run++) {
  for (const [name, measure] of Object.entries(CASES)) times.get(name)?.push(await measure());
}
const rows = [...times].map(([name, of]) => {
  const sorted = of.sort((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? NaN);
  return { name, p50: at(0.5), p95: at(0.95) };
});
printTable(
  ['from start to first token', 'p50 ms', 'p95 ms'],
  rows.map(({ name, p50, p95 }) => [name, String(p50), String(p95)]),
);
if (values.json) console.log(JSON.stringify(rows));
