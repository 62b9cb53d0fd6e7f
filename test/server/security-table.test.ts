/** docs/security.md has one table of all limits: it says what the code says, no more and no less. */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { LIMITS } from '../../src/limits.ts';
import { MODEL_LIMITS } from '../../src/model-limits.ts';

const page = await readFile(new URL('../../docs/security.md', import.meta.url), 'utf8');

/** Rows that begin with a name in code and a value. */
const ROW = /^\| `(?<name>\w+)` \| (?<value>[^|]+?) +\|/gm;

type Limit = number | { readonly min: number; readonly max: number };

const KIB = 2 ** 10;
const MIB = 2 ** 20;

/** A limit as the page writes it: its name tells the unit. */
function written(name: string, limit: Limit): string {
  if (typeof limit === 'object') return `${limit.min} to ${limit.max}`;
  if (name.endsWith('Ms') && limit >= 1000) return `${limit / 1000} s`;
  if (name.endsWith('Ms')) return `${limit} ms`;
  if (name.endsWith('Mb')) return `${limit} MiB`;
  if (/bytes/i.test(name) && limit % MIB === 0) return `${limit / MIB} MiB`;
  if (/bytes/i.test(name) && limit % KIB === 0) return `${limit / KIB} KiB`;
  return limit.toLocaleString('en-US');
}

describe('the table of limits', () => {
  const inPage = Array.from(page.matchAll(ROW), ({ groups }) => [
    groups?.['name'],
    groups?.['value'],
  ]);
  const inCode = [LIMITS, MODEL_LIMITS].flatMap((group) =>
    Object.entries(group).map(([name, limit]: [string, Limit]) => [name, written(name, limit)]),
  );

  it('has each limit once', () => {
    const names = inPage.map(([name]) => name);
    expect(names).toEqual([...new Set(names)]);
  });

  it('has the values of the code, and no other limits', () => {
    expect(new Map(inPage as [string, string][])).toEqual(new Map(inCode as [string, string][]));
  });
});
