/** Commands that are interrupted, and processes whose parent ends: with real signals. */
import { type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isAlive } from '../../src/threads/is-alive.ts';
import { childrenOf, killNow, until } from '../support/processes.ts';
import { runCli, runToEnd, type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
const requests = join(cache.path, 'requests.jsonl');
const prompts = join(cache.path, 'prompts.jsonl');
let server: ServerProcess;

/** More than is done before the signal. */
const NUM_LINES = 400;

beforeAll(async () => {
  server = await startServer(['--model', 'models/foothill'], cache.env);
  const numbers = Array.from({ length: NUM_LINES }, (_, index) => index);
  const line = (index: number) => ({
    custom_id: String(index),
    method: 'POST',
    url: '/v1/completions',
    body: { prompt: `Once ${index}`, max_tokens: 32, ignore_eos: true },
  });
  const texts = numbers.map((index) => ({ text: `A text that is read, number ${index}.` }));
  const toLines = (values: readonly object[]) => values.map((each) => JSON.stringify(each));
  await writeFile(requests, toLines(numbers.map(line)).join('\n'));
  await writeFile(prompts, toLines(texts).join('\n'));
});

afterAll(async () => {
  await server.stop();
  await cache.remove();
});

const sizeOf = async (path: string) => (await stat(path).catch(() => null))?.size ?? 0;

/** Sends a signal once `isTime`. */
async function interrupt(
  child: ChildProcess,
  isTime: (output: () => string) => boolean | Promise<boolean>,
  signal: NodeJS.Signals = 'SIGINT',
) {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  }
  const closed = once(child, 'close');
  await until(() => child.exitCode !== null || isTime(() => output), 'the time for a signal');
  child.kill(signal);
  const [code] = await closed;
  return { code, output };
}

/** Requests that the server has answered. */
async function numServed(): Promise<number> {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  const [, count = '0'] =
    /^chairlift_request_success_total\{.*"length".*\} (\d+)/m.exec(text) ?? [];
  return Number(count);
}

describe('an interrupted command says what it has', () => {
  it('bench, which saves it too', async () => {
    const saved = join(cache.path, 'bench.json');
    const before = await numServed();
    const args = [
      '--base-url',
      server.url,
      '--num-prompts',
      String(NUM_LINES),
      '--max-concurrency',
      '2',
    ];
    const child = runCli(['bench', ...args, '--save-result', saved]);
    const { code, output } = await interrupt(child, async () => (await numServed()) > before + 5);
    expect(output).toMatch(/^ +requests +\d+ completed, 0 failed, then interrupted$/m);
    expect(output).toMatch(/^ +Time to first token \(ms\)/m);
    expect(code).toBe(130);
    const result: unknown = JSON.parse(await readFile(saved, 'utf8'));
    expect(result).toMatchObject({ interrupted: true, num_prompts: NUM_LINES });
    expect(Object(result).completed).toBeGreaterThan(0);
    expect(Object(result).completed).toBeLessThan(NUM_LINES);
  });

  it('profile', async () => {
    const before = await numServed();
    const child = runCli(['profile', '--url', server.url, '--requests', '5000']);
    const { code, output } = await interrupt(child, async () => (await numServed()) > before + 5);
    expect(output).toMatch(/^STAGE +MEDIAN/m);
    expect(output).toMatch(/interrupted after \d+ of 5000 requests$/m);
    expect(code).toBe(130);
  });

  it('batch, which the same command goes on with', async () => {
    const results = join(cache.path, 'results.jsonl');
    const args = ['batch', '-i', requests, '-o', results, '--model', 'models/foothill'];
    const child = runCli(args, cache.env);
    const { code, output } = await interrupt(child, async () => (await sizeOf(results)) > 2000);
    const [, done = ''] = /interrupted; .* has (\d+) of 400 results\. The same/.exec(output) ?? [];
    const numDone = (await readFile(results, 'utf8')).split('\n').length - 1;
    expect(Number(done)).toBeGreaterThan(0);
    expect(numDone).toBeGreaterThanOrEqual(Number(done));
    expect(code).toBe(130);
    const again = await runToEnd(args, cache.env);
    expect(again.output).toContain('400 completed, 0 failed');
    expect(again.output).toContain(`${NUM_LINES - numDone} of them in this run`);
  });

  it('distill-data, at SIGTERM', async () => {
    const targets = join(cache.path, 'targets.gz');
    const args = ['--teacher', 'models/foothill', '--prompts', prompts, '--out', targets];
    const child = runCli(['distill-data', ...args, '--max-num-seqs', '1'], cache.env);
    const isTime = async () => (await sizeOf(targets)) > 2000;
    const { code, output } = await interrupt(child, isTime, 'SIGTERM');
    expect(output).toMatch(
      /interrupted; .*targets\.gz has \d+ of 400 texts\. The same command goes on/,
    );
    expect(code).toBe(143);
  });

  it('eval --compare, before it has anything', async () => {
    const child = runCli(['eval', '--compare', 'models/summit:int8'], cache.env);
    const { code, output } = await interrupt(child, () => childrenOf(child.pid).length > 0);
    expect(output).toMatch(/^chairlift: interrupted; 0 of 1 variants were measured/m);
    expect(code).toBe(130);
  });

  it('optimize, beforehand', async () => {
    const out = join(cache.path, 'optimized');
    const args = ['optimize', '--model', 'models/foothill', '--prune-mlp', '30%', '--out', out];
    const child = runCli(args, cache.env);
    const { output } = await interrupt(child, (soFar) => soFar().includes('optimizing;'));
    expect(output).toContain(
      `works in ${out}.optimizing; if interrupted, the same command goes on`,
    );
    expect(existsSync(`${out}.optimizing`)).toBe(true);
    expect(existsSync(out)).toBe(false);
  });
});

describe('a process ends with the one that started it', () => {
  /** The only child of a command. */
  async function childOf(parent: ChildProcess): Promise<number> {
    await until(() => childrenOf(parent.pid).length === 1, 'a child');
    return childrenOf(parent.pid)[0] ?? 0;
  }

  async function expectEnd(parent: ChildProcess, child: number, signal: NodeJS.Signals) {
    const closed = once(parent, 'exit');
    parent.kill(signal);
    try {
      await until(() => !isAlive(child), 'the end of the child');
    } finally {
      killNow(child);
    }
    await closed;
  }

  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'eval, at %s, which its child gets not',
    async (signal) => {
      const parent = runCli(['eval', '--precisions', 'int8'], cache.env);
      const child = await childOf(parent);
      // It computes from here on, and would for a while.
      await until(
        async () => (await readFile(`/proc/${child}/stat`, 'utf8')).includes(') R '),
        'work',
      );
      await expectEnd(parent, child, signal);
    },
  );

  it.each([
    ['a decoder', 'models/foothill'],
    ['an encoder', 'test/fixtures/encoders/bert'],
  ])('the engine of %s, whose front is killed', async (_, model) => {
    const other = await startServer(['--model', model], cache.env);
    await expectEnd(other.child, await childOf(other.child), 'SIGKILL');
  });

  it('the engine of generate', async () => {
    const args = ['generate', 'Hi', '--raw', '--max-tokens', '2000', '--model', 'models/foothill'];
    const parent = runCli(args, cache.env);
    await expectEnd(parent, await childOf(parent), 'SIGKILL');
  });
});
