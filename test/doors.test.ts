/** No socket is opened in `src` that the hostile suite does not know of, and attack. */
import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { ATTACKED_PORTS, DOORS } from './hostile/support/doors.ts';
import { FAMILIES } from './hostile/support/port-families.ts';
import { PROTOCOLS } from './hostile/support/protocols.ts';

const SOURCES = new URL('../src/', import.meta.url);

/** Node's servers by any name that is usual, and our own functions that open ports. */
const OPENS =
  /(?<!function )(?:\b(?:create\w*Server|createSocket|openPort|startListening|listen(?:[A-Z]\w*)?)|\b(?:WebSocket)?Server|\.listen)\(/g;

async function opensIn(file: string): Promise<string[]> {
  const text = await readFile(new URL(file, SOURCES), 'utf8');
  return text.match(OPENS) ?? [];
}

test('each socket that is opened to listen on is a door', async () => {
  const names = await readdir(SOURCES, { recursive: true });
  const files = names
    .filter((name) => name.endsWith('.ts'))
    .map((name) => name.replaceAll('\\', '/'));
  const found = await Promise.all(
    files.map(async (file) => ({ file, opens: await opensIn(file) })),
  );
  const opened = found.filter(({ opens }) => opens.length > 0);
  const byFile = (a: { readonly file: string }, b: { readonly file: string }): number =>
    a.file < b.file ? -1 : 1;
  const doors = DOORS.map(({ file, opens }) => ({ file, opens }));
  expect(opened.toSorted(byFile)).toEqual(doors.toSorted(byFile));
});

test('each port is attacked', () => {
  expect(ATTACKED_PORTS.toSorted()).toEqual(Object.keys(PROTOCOLS).toSorted());
});

test.each(ATTACKED_PORTS)('each family of attacks has something to say to %s', (port) => {
  for (const [family, { words }] of Object.entries(FAMILIES)) {
    expect(words(port), family).not.toHaveLength(0);
    for (const parts of words(port)) expect(Buffer.concat(parts), family).not.toHaveLength(0);
  }
});
