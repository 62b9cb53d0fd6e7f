import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const MAX_BYTES = 200 * 1024;

test('the whole page is less than 200 KB, compressed', () => {
  const files = readdirSync('dist/web', { recursive: true, encoding: 'utf8' });
  const sizes = files
    .filter((name) => name.endsWith('.gz'))
    .map((name) => [name, statSync(join('dist/web', name)).size] as const);
  expect(sizes.length).toBeGreaterThan(5);
  const total = sizes.reduce((sum, [, size]) => sum + size, 0);
  expect(total, JSON.stringify(sizes)).toBeLessThan(MAX_BYTES);
});
