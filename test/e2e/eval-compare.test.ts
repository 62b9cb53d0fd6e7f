import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { checkWellFormed } from '../bench/support/well-formed.ts';
import { runToEnd } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const VARIANTS = ['--compare', 'models/foothill', 'models/foothill:int8', '--rounds', '1'];

test('variants are measured in one table, with a row from elsewhere', async () => {
  const data = join(cache.path, 'data.jsonl');
  const lines = [
    { text: 'The quick brown fox jumps over the lazy dog. '.repeat(3) },
    { task: 'greeting', prompt: 'Hello!', answer: 'none', max_tokens: 4 },
  ];
  await writeFile(data, lines.map((line) => JSON.stringify(line)).join('\n'));
  const [saved, html] = [join(cache.path, 'saved.json'), join(cache.path, 'report.html')];
  const first = await runToEnd(
    ['eval', '--data', data, '--save-result', saved, '--machine', 'an edge', ...VARIANTS],
    cache.env,
  );
  expect(first.output).toMatch(/^\| models\/foothill \(fp32\) +\|/m);
  const { rows } = JSON.parse(await readFile(saved, 'utf8'));
  expect(rows).toMatchObject([
    { variant: 'models/foothill', precision: 'fp32', machine: 'an edge', rounds: 1 },
    { variant: 'models/foothill:int8', precision: 'int8' },
  ]);
  for (const { levels, perplexity, fileBytes, residentBytes, startMs, tasks } of rows) {
    expect(levels.map(({ streams }: { streams: number }) => streams)).toEqual([1, 4, 16]);
    expect(Math.min(fileBytes, residentBytes, startMs, perplexity)).toBeGreaterThan(1);
    expect(tasks).toEqual([{ task: 'greeting', correct: 0, cases: 1 }]);
  }
  expect(rows[1].fileBytes).toBeLessThan(rows[0].fileBytes);

  const again = ['eval', '--data', data, '--row', saved, '--html', html, '--machine', 'here'];
  const second = await runToEnd([...again, ...VARIANTS.slice(0, 2), '--rounds', '1'], cache.env);
  expect(second.output).toMatch(/^\| models\/foothill:int8, an edge +\|/m);
  checkWellFormed(await readFile(html, 'utf8'));
});

test.each([
  [2, ['--compare', 'models/foothill', '--precisions', 'int8'], /--precisions does not go with/],
  [2, ['--rounds', '2'], /--rounds is for --compare/],
  [2, ['--save-result', 'x.json'], /--save-result is for --compare/],
  [2, ['--compare', 'models/foothill', 'models/foothill'], /twice/],
  [1, ['--compare', 'foothill'], /eval\.jsonl: give --data/],
])('ends with %d: %j', async (status, args, message) => {
  const { code, output } = await runToEnd(['eval', ...args], cache.env);
  expect(output).toMatch(message);
  expect(code).toBe(status);
});
