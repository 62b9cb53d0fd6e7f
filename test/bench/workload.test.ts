import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readDataset } from '../../src/bench/dataset.ts';
import { drawLength, type LengthDistribution } from '../../src/bench/lengths.ts';
import { Random } from '../../src/bench/random.ts';
import { summarize } from '../../src/bench/statistics.ts';
import { sampleItems, syntheticItems } from '../../src/bench/workload.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

function draw(distribution: LengthDistribution, count: number): number[] {
  const random = new Random(5);
  return Array.from({ length: count }, () => drawLength(distribution, random));
}

describe('drawLength', () => {
  it('draws one length where it is fixed', () => {
    expect(new Set(draw({ kind: 'fixed', mean: 100, rangeRatio: 0.5 }, 50))).toEqual(
      new Set([100]),
    );
  });

  it('draws uniformly over the whole range', () => {
    const lengths = draw({ kind: 'uniform', mean: 100, rangeRatio: 0.25 }, 20_000);
    expect(Math.min(...lengths)).toBe(75);
    expect(Math.max(...lengths)).toBe(125);
    expect(summarize(lengths, []).mean).toBeCloseTo(100, 0);
  });

  it('draws lognormally around the mean, with the median far below', () => {
    const { mean, median } = summarize(
      draw({ kind: 'lognormal', mean: 200, rangeRatio: 0 }, 50_000),
      [],
    );
    expect(mean).toBeGreaterThan(185);
    expect(mean).toBeLessThan(210);
    expect(median / 200).toBeCloseTo(Math.exp(-0.5), 1);
  });
});

describe('syntheticItems', () => {
  const fixed = { kind: 'fixed', mean: 12, rangeRatio: 0 } as const;

  it('draws token ids below the limit, past the special ones, no prompt twice', () => {
    const workload = { input: fixed, output: fixed, tokenIdLimit: 50, maxModelLen: null };
    const items = syntheticItems(workload, 200, new Random(1));
    const prompts = items.map(({ prompt }) => ('tokenIds' in prompt ? prompt.tokenIds : []));
    expect(prompts.every((ids) => ids.length === 12)).toBe(true);
    expect(Math.min(...prompts.flat())).toBe(3);
    expect(Math.max(...prompts.flat())).toBe(49);
    expect(new Set(prompts.map(String)).size).toBe(200);
  });

  it('draws words without token ids', () => {
    const workload = { input: fixed, output: fixed, tokenIdLimit: null, maxModelLen: null };
    const [item] = syntheticItems(workload, 1, new Random(1));
    const text = item && 'text' in item.prompt ? item.prompt.text : '';
    expect(text.split(' ')).toHaveLength(12);
  });

  it('fits prompt and answer into the context', () => {
    const input = { kind: 'lognormal', mean: 50, rangeRatio: 0 } as const;
    const workload = { input, output: input, tokenIdLimit: 50, maxModelLen: 64 };
    const items = syntheticItems(workload, 500, new Random(1));
    const totals = items.map(({ promptTokens, maxTokens }) => (promptTokens ?? 0) + maxTokens);
    expect(Math.max(...totals)).toBe(64);
    expect(items.every(({ maxTokens }) => maxTokens >= 1)).toBe(true);
  });
});

describe('readDataset', () => {
  async function dataset(content: string): Promise<string> {
    const path = join(await temporaryDirectory(), 'prompts.jsonl');
    await writeFile(path, content);
    return path;
  }

  it('reads prompts and messages, with lengths of their own', async () => {
    const path = await dataset(
      '{"prompt": "a", "output_tokens": 3}\n\n{"messages": [{"role": "user", "content": "b"}]}\n',
    );
    expect(await readDataset(path, 9)).toEqual([
      { prompt: { text: 'a' }, promptTokens: null, maxTokens: 3 },
      { prompt: { messages: [{ role: 'user', content: 'b' }] }, promptTokens: null, maxTokens: 9 },
    ]);
  });

  it.each([
    ['{"prompt": "a"}\n{oops', 'line 2 is not JSON'],
    ['{"text": "a"}', 'line 1: expected either "prompt" or "messages"'],
    ['{"prompt": "a", "output_tokens": 0}', 'line 1: output_tokens: '],
    ['\n', 'holds no prompts'],
  ])('refuses %j', async (content, message) => {
    await expect(readDataset(await dataset(content), 9)).rejects.toThrow(message);
  });

  it('samples the whole file before anything comes twice', () => {
    const items = ['a', 'b', 'c'].map((text) => ({
      prompt: { text },
      promptTokens: null,
      maxTokens: 1,
    }));
    const texts = sampleItems(items, 5, new Random(1)).map(({ prompt }) =>
      'text' in prompt ? prompt.text : '',
    );
    expect(texts).toHaveLength(5);
    expect(new Set(texts.slice(0, 3))).toEqual(new Set(['a', 'b', 'c']));
  });
});
