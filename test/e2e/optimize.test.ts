import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { post } from '../support/http-client.ts';
import { until } from '../support/processes.ts';
import { runCli, runToEnd, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

/** Where one test leaves a quantized folder for the next. */
const rounded = join(cache.path, 'rounded');

function args(out: string, ...more: string[]): string[] {
  const steps = more.length > 0 ? more : ['--prune-mlp', '30%', '--rounding', 'gptq'];
  return ['optimize', '--model', 'models/foothill', '--out', out, '--tokens', '2048', ...steps];
}

test('a run that was killed goes on, to the same model, which is served', async () => {
  const whole = join(cache.path, 'whole');
  const first = await runToEnd(args(whole), cache.env);
  expect(first.output).toMatch(/^parameters +1\.1M +0\.9M$/m);
  expect(first.output).toMatch(/^perplexity \(2048 tokens of the model's own\) +\d/m);
  expect(first.code).toBe(0);

  const work = `${rounded}.optimizing`;
  const child = runCli(args(rounded), cache.env);
  const ended = once(child, 'close');
  const started = ['step-0', join('step-0.layers', '0.safetensors')];
  await until(() => started.some((name) => existsSync(join(work, name))), 'a layer');
  child.kill('SIGSTOP');
  const other = await runToEnd(args(rounded), cache.env);
  expect(other.output).toBe(`chairlift: another process uses ${work}\n`);
  child.kill('SIGKILL');
  await ended;
  expect(existsSync(rounded)).toBe(false);

  // Results from before the crash count: they are not measured again.
  const measured = join(work, 'before.json');
  const before = { ...Object(JSON.parse(await readFile(measured, 'utf8'))), parameters: 12_345 };
  await writeFile(measured, JSON.stringify(before));
  const again = await runToEnd(args(rounded), cache.env);
  expect(again.code).toBe(0);
  const report: unknown = JSON.parse(await readFile(join(rounded, 'optimization.json'), 'utf8'));
  expect(report).toMatchObject({ before: { parameters: 12_345 } });
  for (const name of ['config.json', 'model.safetensors', 'tokenizer.json']) {
    const [made, expected] = [rounded, whole].map((folder) => readFile(join(folder, name)));
    expect((await made)?.equals((await expected) ?? Buffer.of()), name).toBe(true);
  }
  expect((await readdir(cache.path)).filter((name) => name.includes('optimizing'))).toEqual([]);

  const server = await startServer(['--model', rounded], cache.env);
  const response = await post(`${server.url}/v1/completions`, {
    model: 'rounded',
    prompt: 'Once upon a time',
    max_tokens: 8,
  });
  const { choices } = Object(await response.json());
  await server.stop();
  expect(response.status).toBe(200);
  expect(choices[0].text.length).toBeGreaterThan(0);
});

test.each([
  [
    2,
    args(join(cache.path, 'new'), '--prune-mlp', '100%'),
    /expected more than 0% and less than 100%/,
  ],
  [1, args(rounded), /rounded is there already: name another folder/],
  [1, args(join(cache.path, 'new'), '--model', rounded, '--prune-mlp', '30%'), /quantized already/],
])('ends with %d: %j', async (status, line, message) => {
  const { code, output } = await runToEnd(line, cache.env);
  expect(output).toMatch(message);
  expect(output).not.toMatch(/\n {4}at /);
  expect(code).toBe(status);
  expect((await readdir(cache.path)).filter((name) => name.startsWith('new'))).toEqual([]);
});
