/**
 * Red Hat's vllm-cpu-perf-eval cells and those of vLLM's suite for CPUs, by GuideLLM, against servers with the
 * same random weights, one after the other. See README.md beside this file.
 *
 *   npm run build && npx tsx scripts/bench/cpu-eval/main.ts --guidellm PATH --llama-server PATH
 *     [--ik-llama-server PATH] [--vllm-python PATH] [--transformers-python PATH --llama-sources PATH]
 *     [--models qwen3-0.6b] [--cells chat,128/32] [--concurrency 1,4] [--servers chairlift-int8,llama-q8_0]
 *     [--requests 8] [--seconds 600] [--threads 2] [--core-hour-price 0.04] [--folder cpu-eval] [--retry] [--report]
 *
 * Each cell is one JSON file in `FOLDER/results`: those that are there are not measured again, with `--retry` those
 * that failed are. `--report` only writes what is there, as `FOLDER/table.md`, `FOLDER/results.json` and
 * `FOLDER/chart.svg`; `--chart-cells chat` draws these cells alone.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { freePorts } from '../../../test/support/free-ports.ts';
import { machineShape } from '../lib/machine.ts';
import { svg } from './chart.ts';
import { prepareCheckpoint } from './checkpoints.ts';
import { runGuidellm } from './guidellm.ts';
import { CELLS, contextOf, planCells, type PlannedCell, resultFile, SERVERS } from './plan.ts';
import { markdown } from './report.ts';
import { type CellResult, readResult, readResults } from './results.ts';
import { serverCommand, startServer } from './servers.ts';

const { values } = parseArgs({
  options: {
    models: { type: 'string', default: 'qwen3-0.6b' },
    cells: { type: 'string', default: 'chat' },
    concurrency: { type: 'string', default: '1' },
    servers: { type: 'string', default: 'chairlift-int8,llama-q8_0,chairlift-int4,llama-q4_0' },
    requests: { type: 'string', default: '8' },
    seconds: { type: 'string', default: '600' },
    threads: { type: 'string', default: String(availableParallelism()) },
    folder: { type: 'string', default: 'cpu-eval' },
    guidellm: { type: 'string', default: 'guidellm' },
    chairlift: { type: 'string', default: 'dist/cli/main.js' },
    'llama-server': { type: 'string', default: 'llama-server' },
    'ik-llama-server': { type: 'string', default: 'llama-server' },
    'vllm-python': { type: 'string', default: 'python3' },
    'transformers-python': { type: 'string', default: 'python3' },
    'llama-sources': { type: 'string', default: 'llama.cpp' },
    'core-hour-price': { type: 'string', default: '0.04' },
    'chart-cells': { type: 'string' },
    retry: { type: 'boolean', default: false },
    report: { type: 'boolean', default: false },
  },
});

/** Tokens by which a prompt may be longer than GuideLLM was asked for. */
const SLACK = 16;
const LONGEST = Math.max(...Object.values(CELLS).map(({ prompt, output }) => prompt + output));

const folder = resolve(values.folder);
const results = join(folder, 'results');
const reports = join(folder, 'guidellm');
const models = join(folder, 'models');
const threads = Number(values.threads);
const programs = {
  chairlift: values.chairlift,
  llamaServer: values['llama-server'],
  ikLlamaServer: values['ik-llama-server'],
  vllmPython: values['vllm-python'],
};
const converterTools = {
  python: values['transformers-python'],
  llamaSources: values['llama-sources'],
};

async function measure(cell: PlannedCell): Promise<CellResult['figures']> {
  const kind = SERVERS[cell.server];
  if (kind === undefined) throw new Error(`no server ${cell.server}`);
  const { model, prompt, output, concurrency } = cell;
  const positions = contextOf(model);
  const tokenizer = await prepareCheckpoint(models, model, 'bf16', converterTools);
  const path = await prepareCheckpoint(models, model, kind.precision, converterTools);
  // Another for each server: one that was just closed can't be bound by all of them.
  const [port = 0] = await freePorts(1);
  const setup = {
    name: model,
    path,
    concurrency,
    context: Math.min(prompt + output + SLACK, positions),
    longest: Math.min(LONGEST + SLACK, positions),
    threads,
    port,
    cacheFolder: join(folder, 'builds'),
  };
  const command = serverCommand(kind, setup, programs);
  // The first start builds the model, if it was not built before: that is no memory of serving.
  if (kind.program === 'chairlift') await (await startServer(command, port)).close();
  const server = await startServer(command, port);
  try {
    await warmUp(server.url, model);
    const figures = await runGuidellm({
      program: values.guidellm,
      url: server.url,
      model,
      tokenizer,
      prompt,
      output,
      concurrency,
      requests: Math.max(concurrency, Number(values.requests)),
      seconds: Number(values.seconds),
      report: join(reports, resultFile(cell)),
    });
    return { ...figures, startSeconds: server.startSeconds, peakBytes: server.peakBytes() };
  } finally {
    await server.close();
  }
}

/** The first request brings weights into memory. @throws {Error} if it is refused */
async function warmUp(url: string, model: string): Promise<void> {
  const response = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, prompt: 'A first request.', max_tokens: 4 }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`the first request: ${text}`);
}

async function runCell(cell: PlannedCell): Promise<void> {
  const path = join(results, resultFile(cell));
  const known = await readResult(path);
  if (known !== undefined && (known.figures !== null || !values.retry)) return;
  const date = new Date().toISOString();
  let failure: string | null = null;
  const figures = await measure(cell).catch((error: unknown) => {
    failure = error instanceof Error ? error.message : String(error);
    return null;
  });
  const result: CellResult = { ...cell, machine: machineShape(), threads, date, figures, failure };
  await writeFile(path, JSON.stringify(result, null, 2));
  const rate = figures?.outputTokensPerSecond.toFixed(1) ?? 'failed';
  console.log(`${date} ${resultFile(cell)}: ${rate}`);
}

// Takes the server that runs with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

await mkdir(results, { recursive: true });
await mkdir(reports, { recursive: true });
if (!values.report) {
  for (const cell of planCells(values)) await runCell(cell);
}
const all = await readResults(results);
const drawn = values['chart-cells']?.split(',');
const files = {
  'table.md': markdown(all, Number(values['core-hour-price'])),
  'results.json': `${JSON.stringify(all)}\n`,
  'chart.svg': svg(all.filter(({ cell }) => drawn?.includes(cell) ?? true)),
};
for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
console.log(
  Object.keys(files)
    .map((name) => join(folder, name))
    .join(', '),
);
