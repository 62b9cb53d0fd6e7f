import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readJson } from '../../../src/model/huggingface/json-file.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

async function read(text: string): Promise<unknown> {
  const path = join(await temporaryDirectory(), 'config.json');
  await writeFile(path, text);
  return readJson(path);
}

test('limits that Python writes as no JSON has them are none', async () => {
  const text = String.raw`{"time_step_limit": [0.0, Infinity], "low": -Infinity, "x": NaN, "say": "\"Infinity\\"}`;
  expect(await read(text)).toEqual({
    time_step_limit: [0, null],
    low: null,
    x: null,
    say: String.raw`"Infinity\ `.trimEnd(),
  });
});

test.each(['{"a": Infinity', '{"a": Infinite}', '{"a": "NaN}', '[nan]', 'Infinity"'])(
  '%s is refused',
  async (text) => {
    await expect(read(text)).rejects.toThrow('config.json is not valid JSON');
  },
);

test('a large file that is no JSON is refused in time', async () => {
  const start = performance.now();
  await expect(read(`Infinity ${'"\\"'.repeat(2 ** 20)}`)).rejects.toThrow('config.json');
  await expect(read(`Infinity "${'\\"'.repeat(2 ** 22)}`)).rejects.toThrow('config.json');
  expect(performance.now() - start).toBeLessThan(20_000);
});
