import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/limits.ts';
import {
  EmptyLinesError,
  LineTooLongError,
  readLines,
} from '../../../src/server/batches/line-file.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

async function linesOf(text: string, maxBytes = Infinity) {
  const path = join(await temporaryDirectory(), 'lines');
  await writeFile(path, text);
  const lines: object[] = [];
  for await (const { number, start, bytes, isWhole } of readLines(path, maxBytes)) {
    lines.push({ number, start, text: bytes.toString(), isWhole });
  }
  return lines;
}

test('lines are what splitting gives, without the empty ones', async () => {
  const anyLine = fc.oneof(
    fc.constant(''),
    fc.string({ maxLength: 5 }).map((text) => text.replaceAll('\n', ' ')),
    fc.integer({ min: 1, max: 200_000 }).map((length) => 'x'.repeat(length)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(anyLine, { maxLength: 8 }), async (parts) => {
      let start = 0;
      const expected = parts.map((text, index) => {
        const line = { number: index + 1, start, text, isWhole: index < parts.length - 1 };
        start += Buffer.byteLength(text) + 1;
        return line;
      });
      expect(await linesOf(parts.join('\n'))).toEqual(expected.filter(({ text }) => text !== ''));
    }),
    { numRuns: 60 },
  );
});

test('a file of nothing but line breaks gives no line', async () => {
  expect(await linesOf('\n'.repeat(LIMITS.batchEmptyLines))).toEqual([]);
});

test('a line that is too long is told by its number', async () => {
  await expect(linesOf(`a\n\n${'x'.repeat(100_000)}\n`, 99_999)).rejects.toEqual(
    new LineTooLongError(3, 99_999),
  );
});

test('empty lines are bounded, wherever they are', async () => {
  const max = LIMITS.batchEmptyLines;
  await expect(linesOf(`a\n${'\n'.repeat(max)}b`)).resolves.toHaveLength(2);
  await expect(linesOf(`a\n${'\n'.repeat(2 ** 22)}b`)).rejects.toEqual(
    new EmptyLinesError(max + 2, max),
  );
});

test('lines that are slow to work on leave turns of the event loop to others', async () => {
  const path = join(await temporaryDirectory(), 'lines');
  await writeFile(path, 'x\n'.repeat(20));
  let turns = 0;
  const count = (): void => {
    turns++;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  let seen = 0;
  for await (const line of readLines(path, 10)) {
    if (line.number === 1) turns = 0;
    seen++;
    const end = performance.now() + 6;
    while (performance.now() < end);
  }
  clearImmediate(next);
  expect(seen).toBe(20);
  expect(turns).toBeGreaterThanOrEqual(19);
});
