import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { mostShown } from '../../../src/bench/html/scatter-plot.ts';
import { comparisonHtml } from '../../../src/eval/compare/compare-html.ts';
import { comparisonMarkdown } from '../../../src/eval/compare/compare-table.ts';
import { readRows } from '../../../src/eval/compare/comparison.ts';
import { parseVariant } from '../../../src/eval/compare/variant.ts';
import { UserError } from '../../../src/user-error.ts';
import { checkWellFormed } from '../../bench/support/well-formed.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { comparison, row } from './support/rows.ts';

const EDGE = row({ variant: 'summit:int4', precision: 'int4', machine: 'arm64 under emulation' });

test.each([
  ['models/summit', 'models/summit', 'auto'],
  ['models/summit:int8', 'models/summit', 'int8'],
  ['hf:owner/name', 'hf:owner/name', 'auto'],
  ['hf:owner/name:Q4_K_M', 'hf:owner/name:Q4_K_M', 'auto'],
  ['hf:owner/name:Q4_K_M:fp32', 'hf:owner/name:Q4_K_M', 'fp32'],
  ['C:\\models\\summit', 'C:\\models\\summit', 'auto'],
  ['a:int3', 'a:int3', 'auto'],
])('%s is a model and a precision', (name, model, precision) => {
  expect(parseVariant(name)).toEqual({ name, model, precision });
});

describe('the table', () => {
  test('has a row for each variant', () => {
    const lines = comparisonMarkdown(comparison([row(), row({ variant: 'foothill' })])).split('\n');
    const cells = lines.slice(0, 4).map((line) => line.split('|').map((cell) => cell.trim()));
    expect(cells[0]?.slice(1, -1)).toEqual([
      'variant',
      'file',
      'memory',
      'start',
      'request p50 / p95, 1 stream',
      'p50 / p95, 16 streams',
      'requests/s, 16 streams',
      'tokens/s, 1',
      'tokens/s, 16',
      'perplexity',
      'tasks',
    ]);
    expect(cells[2]?.slice(1, -1)).toEqual([
      'summit:int8',
      '5.0 MiB',
      '90.0 MiB',
      '321 ms',
      '40 / 44 ms',
      '160 / 190 ms',
      '98.8',
      '800',
      '3160',
      '1.7234',
      '80.0 % (4/5)',
    ]);
    // The pick of `auto` is told.
    expect(cells[3]?.[1]).toBe('foothill (int8)');
  });

  test('leaves out accuracy that nothing has', () => {
    const text = comparisonMarkdown(comparison([row({ perplexity: null, tasks: [] })]));
    expect(text).not.toMatch(/perplexity|tasks/);
  });

  test('marks what was measured elsewhere', () => {
    const text = comparisonMarkdown(comparison([row(), EDGE]));
    expect(text).toContain('| summit:int4, arm64 under emulation |');
    expect(text).toContain(
      'Measured elsewhere, and not beside the others: summit:int4 on arm64 under emulation.',
    );
    expect(comparisonMarkdown(comparison([row()]))).not.toContain('elsewhere');
  });

  test('says when perplexities are of different tokens', () => {
    const rows = [row(), row({ numScoredTokens: 1001 })];
    expect(comparisonMarkdown(comparison(rows))).toContain('cannot be compared');
    expect(comparisonMarkdown(comparison([row(), row()]))).not.toContain('cannot be compared');
  });
});

describe('the report', () => {
  test('is one well-formed document with two plots and the table', () => {
    const html = comparisonHtml(comparison([row({ variant: '<a & "b">' }), row(), EDGE]));
    checkWellFormed(html);
    expect(html).not.toMatch(/<script|<link|src=|@import|url\(|NaN|undefined|Infinity/);
    expect(html).toContain('&lt;a &amp; &quot;b&quot;&gt;');
    expect(html.match(/<figure>/g)).toHaveLength(2);
    // A disk for each variant in each plot; a ring for what was measured elsewhere.
    expect(html.match(/class="disk"/g)).toHaveLength(4);
    expect(html.match(/class="disk hollow"/g)).toHaveLength(2);
    expect(html.match(/<tr>/g)).toHaveLength(4);
  });

  test('has no two labels on one another', () => {
    const rows = Array.from({ length: 5 }, (_, index) => row({ variant: `variant-${index}:int8` }));
    const html = comparisonHtml(comparison(rows));
    const [plot = ''] = html.split('</figure>');
    const labels = plot.matchAll(/class="marker-label" x="([\d.-]+)" y="([\d.-]+)"/g);
    const heights = Array.from(labels, ([, , y]) => Number(y)).sort((a, b) => a - b);
    expect(heights).toHaveLength(5);
    for (const [index, y] of heights.slice(1).entries()) {
      expect(y - (heights[index] ?? 0)).toBeGreaterThanOrEqual(12);
    }
  });

  test('a perplexity far above the others leaves them apart, and is named', () => {
    const rows = [1.79, 1.8, 1.89, 2.65, 178.2].map((perplexity) =>
      row({ variant: `of ${perplexity}:int8`, perplexity, tasks: [] }),
    );
    const html = comparisonHtml(comparison(rows));
    checkWellFormed(html);
    expect(html).toContain('>of 178.2:int8: 178 \u2191<');
    const disks = html.matchAll(/cy="([\d.]+)"[^>]*><title>of ([\d.]+)/g);
    const heights = new Map(Array.from(disks, ([, y, name]) => [Number(name), Number(y)]));
    const of = (perplexity: number) => heights.get(perplexity) ?? Number.NaN;
    expect(of(1.79) - of(2.65)).toBeGreaterThan(150);
    expect(of(1.79) - of(1.89)).toBeGreaterThan(15);
    // Less is further down, and the one that is off the axis above all.
    expect([...heights.values()]).toEqual([...heights.values()].sort((a, b) => b - a));
  });

  test.each<[number[], number]>([
    [[1, 2, 3], 3],
    [[1, 1.1, 100], 1.1],
    [[1, 1, 100], 1],
    // Two apart are as good as any two.
    [[1, 100], 100],
    [[1, 1.1, 1.2, 1.3, 99, 100], 1.3],
    [[1, 1.1, 1.2, 1.3, 1.4, 100, 1e6], 1.4],
    // Where many are far above, they are what the plot is about.
    [[1, 1.1, 98, 99, 100], 100],
    [[7], 7],
  ])('of %j, values up to %d are on the axis', (values, most) => {
    expect(mostShown(values)).toBe(most);
    expect(mostShown(values.toReversed())).toBe(most);
  });

  test('draws what differs a hundredfold, and what has no accuracy', () => {
    const slow = row({
      variant: 'slow',
      levels: row().levels.map((level) => ({ ...level, tokensPerSecond: 10 })),
      perplexity: null,
      tasks: [],
    });
    for (const rows of [[row(), slow], [slow]]) {
      const html = comparisonHtml(comparison(rows));
      checkWellFormed(html);
      expect(html).not.toMatch(/NaN|undefined|Infinity/);
    }
  });
});

describe('rows of another run', () => {
  const { workload } = comparison([EDGE]);
  const saved = async (value: unknown) => {
    const path = join(await temporaryDirectory(), 'result.json');
    await writeFile(path, typeof value === 'string' ? value : JSON.stringify(value));
    return path;
  };

  test('come back as they were saved', async () => {
    expect(await readRows(await saved(comparison([EDGE])), workload)).toEqual([EDGE]);
  });

  test('are refused if they did other work', async () => {
    const path = await saved({ ...comparison([EDGE]), workload: { ...workload, data: 'other' } });
    await expect(readRows(path, workload)).rejects.toThrow(UserError);
    await expect(readRows(path, workload)).rejects.toThrow(/other work/);
  });

  test.each(['{}', 'nonsense', '{"rows": []}'])('%s is none', async (text) => {
    await expect(readRows(await saved(text), workload)).rejects.toThrow(/no result of eval/);
  });

  test('a file that is not there is named', async () => {
    await expect(readRows('/nowhere/result.json', workload)).rejects.toThrow(
      '/nowhere/result.json',
    );
  });
});
