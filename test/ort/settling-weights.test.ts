import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { hugePageBytes } from '../../src/ort/huge-pages.ts';
import { NativeMemory } from '../../src/ort/native-memory.ts';
import { SettlingWeights } from '../../src/ort/settling-weights.ts';
import { mappedBytes } from '../support/mapped-bytes.ts';
import { HUGE_PAGES, REAL_PROCESSOR, needs } from '../support/needs.ts';

const MIB = 2 ** 20;
const HOUR_MS = 3_600_000;
const folder = mkdtempSync(join(tmpdir(), 'settling-weights-'));
afterAll(() => rmSync(folder, { recursive: true }));

const pageBytes = hugePageBytes();

/** A file of random bytes that is mapped, and these bytes. */
function mappedFile(name: string, size: number) {
  const path = join(folder, name);
  const bytes = randomBytes(size);
  writeFileSync(path, bytes);
  return { path, bytes, file: NativeMemory.ofFile(path) };
}

const hugeKib = () =>
  Number(/^AnonHugePages:\s+(\d+)/m.exec(readFileSync('/proc/self/smaps_rollup', 'utf8'))?.[1]);

describe('weights on their way into huge pages', needs(HUGE_PAGES), () => {
  test('are the same bytes at the same addresses, those around them too', () => {
    const { bytes, file } = mappedFile('same', 9 * MIB + 4096);
    expect(new SettlingWeights([{ file, start: 5000, end: 9 * MIB }]).move(HOUR_MS)).toBe(0);
    // Random bytes are compared as one: a difference would be printed byte by byte.
    expect(Buffer.from(file.view()).equals(bytes)).toBe(true);
    file.release();
  });

  test('are in huge pages then', needs(REAL_PROCESSOR), () => {
    const { file } = mappedFile('huge', 9 * MIB);
    const before = hugeKib();
    expect(new SettlingWeights([{ file, start: 0, end: 9 * MIB }]).move(HOUR_MS)).toBe(0);
    expect(hugeKib() - before).toBeGreaterThanOrEqual(4 * 1024);
    file.release();
  });

  test('are one range where only a little lies between them, and all of them go', () => {
    const { bytes, file } = mappedFile('near', 24 * MIB);
    const ranges = [
      { file, start: 12 * MIB, end: 24 * MIB },
      { file, start: 0, end: 12 * MIB - 1000 },
    ];
    const settling = new SettlingWeights(ranges);
    expect(settling.move(0)).toBeGreaterThanOrEqual(22 * MIB);
    expect(settling.move(HOUR_MS)).toBe(0);
    expect(Buffer.from(file.view()).equals(bytes)).toBe(true);
    file.release();
  });

  test('leave what no product reads where it is', () => {
    const { file } = mappedFile('apart', 24 * MIB);
    const ranges = [
      { file, start: 0, end: 4 * MIB },
      { file, start: 20 * MIB, end: 24 * MIB },
    ];
    expect(new SettlingWeights(ranges).move(0)).toBeLessThanOrEqual(8 * MIB);
    file.release();
  });

  test('go a page at a time where there is little time, which is made up for afterwards', () => {
    const { file } = mappedFile('slow', 12 * MIB);
    const settling = new SettlingWeights([{ file, start: 0, end: 12 * MIB }]);
    const instant = 1e-6;
    const all = settling.move(0);
    expect(settling.move(instant)).toBe(all - (pageBytes ?? 0));
    expect(settling.move(instant)).toBe(all - (pageBytes ?? 0));
    expect(settling.move(HOUR_MS)).toBe(0);
    file.release();
  });

  test('stay mapped where memory is short, also where it becomes so', () => {
    const { path, file } = mappedFile('room', 140 * MIB);
    const ranges = [{ file, start: 0, end: 140 * MIB }];
    expect(new SettlingWeights(ranges, () => 300 * MIB).move(HOUR_MS)).toBe(0);
    expect(mappedBytes('self', path)).toBe(140 * MIB);
    const looks = [600 * MIB, 200 * MIB];
    expect(new SettlingWeights(ranges, () => looks.shift() ?? 0).move(HOUR_MS)).toBe(0);
    expect(mappedBytes('self', path)).toBeGreaterThanOrEqual(70 * MIB);
    expect(mappedBytes('self', path)).toBeLessThan(80 * MIB);
    file.release();
  });

  test('stay mapped where the file became shorter', () => {
    const { path, bytes, file } = mappedFile('short', 8 * MIB);
    writeFileSync(path, bytes.subarray(0, MIB));
    expect(new SettlingWeights([{ file, start: 0, end: 8 * MIB }]).move(HOUR_MS)).toBe(0);
    expect(Buffer.from(file.view(0, MIB)).equals(bytes.subarray(0, MIB))).toBe(true);
    file.release();
  });
});

test('there are no huge pages where the system says so, or says nothing', async () => {
  const enabled = async (name: string, text: string, bytes: string) => {
    const root = join(folder, name);
    const at = join(root, 'sys/kernel/mm/transparent_hugepage');
    await mkdir(at, { recursive: true });
    await writeFile(join(at, 'enabled'), text);
    await writeFile(join(at, 'hpage_pmd_size'), bytes);
    return hugePageBytes(root);
  };
  expect(await enabled('asked', 'always [madvise] never\n', '2097152\n')).toBe(2 * MIB);
  expect(await enabled('all', '[always] madvise never\n', '2097152\n')).toBe(2 * MIB);
  expect(await enabled('never', 'always madvise [never]\n', '2097152\n')).toBeNull();
  expect(await enabled('large', '[always] madvise never\n', '536870912\n')).toBeNull();
  expect(await enabled('odd', '[always] madvise never\n', 'nonsense\n')).toBeNull();
  expect(hugePageBytes(join(folder, 'nothing'))).toBeNull();
});
