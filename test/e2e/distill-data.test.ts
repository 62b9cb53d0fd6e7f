import { once } from 'node:events';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readRecords } from '../../src/distill/gzip-members.ts';
import type { TargetRecord } from '../../src/distill/target-record.ts';
import { runCli, runToEnd } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const NUM_PROMPTS = 60;

const cache = await temporaryCache();
afterAll(() => cache.remove());
const prompts = join(cache.path, 'prompts.jsonl');

beforeAll(async () => {
  const lines = Array.from({ length: NUM_PROMPTS }, (_, index) => {
    if (index % 3 === 0) return { text: `A text that is read, number ${index}.` };
    if (index % 3 === 1) return { prompt: `Once there were ${index}`, max_tokens: 20 };
    return { messages: [{ role: 'user', content: `What is ${index} + 1?` }] };
  });
  await writeFile(prompts, lines.map((line) => `${JSON.stringify(line)}\n`).join('\n'));
});

function args(out: string, ...more: string[]): string[] {
  const files = ['--teacher', 'models/foothill', '--prompts', prompts, '--out', out];
  return ['distill-data', ...files, '--max-tokens', '40', '--top-logprobs', '4', ...more];
}

test('a run that was killed goes on, and comes to what it would have come to', async () => {
  const [whole, cut] = [join(cache.path, 'whole.gz'), join(cache.path, 'cut.gz')];
  const first = await runToEnd(args(whole), cache.env);
  expect(first.output).toContain('60 texts, ');
  const expected = await readRecords(whole);
  const records = expected.slice(1).map((text): TargetRecord => JSON.parse(text));
  const numTokens = records.reduce((sum, { tokens, first: from }) => sum + tokens.length - from, 0);
  expect(first.output).toContain(`60 of them in this run: targets of ${numTokens} tokens in `);
  expect(JSON.parse(expected[0] ?? '')).toMatchObject({
    format: 'chairlift-soft-targets',
    teacher: 'foothill',
    vocab_size: 4096,
    top_logprobs: 4,
  });
  expect(expected).toHaveLength(1 + NUM_PROMPTS);

  const child = runCli(args(cut, '--max-num-seqs', '2'), cache.env);
  const ended = once(child, 'close');
  while (((await stat(cut).catch(() => null))?.size ?? 0) < 4000) await sleep(5);
  child.kill('SIGKILL');
  await ended;
  const kept = (await readRecords(cut)).length;
  expect(kept).toBeGreaterThan(1);
  expect(kept).toBeLessThan(expected.length);

  const again = await runToEnd(args(cut, '--max-num-seqs', '2'), cache.env);
  expect(again.output).toContain(`${1 + NUM_PROMPTS - kept} of them in this run`);
  // Products in fp32 may differ in their last digit by what else is in a step.
  const found = (await readRecords(cut)).slice(1).map((text): TargetRecord => JSON.parse(text));
  const byLine = (all: TargetRecord[]) => all.toSorted((a, b) => a.line - b.line);
  for (const [line, record] of byLine(found).entries()) {
    const { logprobs, ids, ...text } = record;
    expect(byLine(records)[line]).toMatchObject(text);
    expect(logprobs).toHaveLength(byLine(records)[line]?.logprobs.length ?? 0);
    expect(ids).toHaveLength(logprobs.length);
  }
  expect(found).toHaveLength(NUM_PROMPTS);
});

test.each([
  [1, ['--temperature', '0'], 'temperature was 1, now 0'],
  [2, ['--top-logprobs', '999'], '--top-logprobs 999: expected a whole number from 1 to 256'],
  [1, ['--prompts', '/nowhere.jsonl'], '/nowhere.jsonl: no such file'],
])('ends with %d: %j', async (status, more, message) => {
  const out = join(cache.path, 'whole.gz');
  const { code, output } = await runToEnd(args(out, ...more), cache.env);
  expect(output).toContain(message);
  expect(output).not.toMatch(/\n {4}at /);
  expect(code).toBe(status);
});
