/** Batches through real kills: of the engine, of the server, and of the command without one. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI, { toFile } from 'openai';
import { afterAll, describe, expect, it } from 'vitest';
import { killNow, until } from '../support/processes.ts';
import { engineOf, runCli, runToEnd, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
const folder = await mkdtemp(join(tmpdir(), 'batches-'));
afterAll(async () => {
  await cache.remove();
  await rm(folder, { recursive: true, force: true });
});

const NUM_LINES = 120;
const ids = Array.from({ length: NUM_LINES }, (_, index) => `line-${index}`).toSorted();
const input = Array.from({ length: NUM_LINES }, (_, index) => ({
  custom_id: `line-${index}`,
  method: 'POST',
  url: '/v1/chat/completions',
  body: {
    messages: [{ role: 'user', content: `What is ${index} + ${index}?` }],
    temperature: 0,
    max_tokens: 48,
    ignore_eos: true,
  },
}))
  .map((line) => `${JSON.stringify(line)}\n`)
  .join('');

interface Result {
  readonly custom_id: string;
  readonly response: { readonly body: { readonly choices: readonly unknown[] } };
}

/** Answer to each line; fails if a line has not exactly one result. */
function textsOf(output: string): Map<string, unknown> {
  const results = output
    .trimEnd()
    .split('\n')
    .map((line): Result => JSON.parse(line));
  expect(results.map(({ custom_id }) => custom_id).toSorted()).toEqual(ids);
  return new Map(results.map(({ custom_id, response }) => [custom_id, response.body.choices]));
}

const clientOf = (url: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none' });

let undisturbed: Map<string, unknown> | undefined;

describe('every line has one result, and the same', () => {
  it('where engine and server are killed in the middle', async () => {
    const flags = ['--batch-dir', join(folder, 'served'), '--max-num-seqs', '4'];
    const first = await startServer(flags, cache.env);
    const client = clientOf(first.url);
    const file = await toFile(Buffer.from(input), 'in.jsonl');
    const { id: input_file_id } = await client.files.create({ file, purpose: 'batch' });
    const { id } = await client.batches.create({
      input_file_id,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    });
    const doneOf = async (url: string) =>
      (await clientOf(url).batches.retrieve(id)).request_counts?.completed ?? 0;
    await until(async () => (await doneOf(first.url)) > 10, 'ten lines');
    const engine = engineOf(first);
    killNow(engine);
    const before = await doneOf(first.url);
    await until(async () => (await doneOf(first.url)) > before + 10, 'ten more lines');
    expect(engineOf(first)).not.toBe(engine);
    const numDone = await doneOf(first.url);
    await first.stop('SIGKILL');
    expect(numDone).toBeLessThan(NUM_LINES);

    const second = await startServer(flags, cache.env);
    expect(await doneOf(second.url)).toBeGreaterThanOrEqual(numDone);
    const ended = async () => (await clientOf(second.url).batches.retrieve(id)).status;
    await until(async () => (await ended()) === 'completed', 'the end');
    const batch = await clientOf(second.url).batches.retrieve(id);
    expect(batch.request_counts).toEqual({ total: NUM_LINES, completed: NUM_LINES, failed: 0 });
    const content = await clientOf(second.url).files.content(batch.output_file_id ?? '');
    undisturbed = textsOf(await content.text());
    await second.stop();
  }, 180_000);

  it('where `chairlift batch` is killed and started again', async () => {
    const [from, to] = [join(folder, 'in.jsonl'), join(folder, 'out.jsonl')];
    await writeFile(from, input);
    const args = ['batch', '-i', from, '-o', to, '--max-num-seqs', '4'];
    const child = runCli(args, cache.env);
    const linesIn = async () => (await readFile(to, 'utf8').catch(() => '')).split('\n').length - 1;
    await until(async () => (await linesIn()) > 20, 'twenty lines');
    child.kill('SIGKILL');
    await until(() => child.signalCode !== null, 'its end');
    const numDone = await linesIn();
    expect(numDone).toBeLessThan(NUM_LINES);
    const { code, output } = await runToEnd(args, cache.env);
    expect({ code, output }).toMatchObject({ code: 0 });
    expect(output).toContain(`${NUM_LINES} completed, 0 failed`);
    const texts = textsOf(await readFile(to, 'utf8'));
    expect(texts.size).toBe(NUM_LINES);
    expect(texts).toEqual(undisturbed);
    await writeFile(from, input.replace('0 + 0', '1 + 0'));
    const refused = await runToEnd(args, cache.env);
    expect([refused.code, refused.output]).toEqual([
      1,
      expect.stringContaining('results of another input file'),
    ]);
  }, 120_000);
});

it('tells what is wrong with a file before a model is loaded', async () => {
  const path = join(folder, 'bad.jsonl');
  await writeFile(path, '{"custom_id": "a"}\n');
  const { code, output } = await runToEnd(['batch', '-i', path, '-o', join(folder, 'x')]);
  expect([code, output]).toEqual([1, expect.stringContaining('line 1: `method` is required')]);
});
