/** docs/operating.md has every flag of `serve`, with its default. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { keysOf, SERVE_FLAGS } from '../../../src/settings/flag-sets.ts';
import { defaultTextOf, isSwitch, nameOf } from '../../../src/settings/flags/flag-spec.ts';
import { FLAGS, specOf } from '../../../src/settings/options.ts';

const text = await readFile('docs/operating.md', 'utf8');
const section = text.split('\n## Flags\n')[1]?.split('\n### Secrets\n')[0] ?? '';
const rows = [...section.matchAll(/^\| (`--.+?) \| (.+?) \| /gm)].map(
  ([, flags = '', byDefault]) => ({
    names: [...flags.matchAll(/`--([a-z-]+)`/g)].map(([, name = '']) => name),
    byDefault,
  }),
);
const served = new Map(SERVE_FLAGS.map((option) => [nameOf(specOf(option)), specOf(option)]));

test('each flag of serve is in one row of the tables', () => {
  const documented = rows.flatMap(({ names }) => names);
  expect(documented.toSorted()).toEqual([...served.keys()].toSorted());
});

test('defaults are those of the flags', () => {
  for (const { names, byDefault } of rows) {
    for (const name of names) {
      const spec = served.get(name);
      expect([name, byDefault]).toEqual([name, (spec && defaultTextOf(spec)) ?? 'none']);
    }
  }
});

test('every flag that the documents name is there', async () => {
  const all = keysOf(FLAGS).map((option) => specOf(option));
  const names = new Set(
    all.flatMap((spec) => (isSwitch(spec) ? [nameOf(spec), `no-${nameOf(spec)}`] : [nameOf(spec)])),
  );
  const named = [...text.matchAll(/`--([a-z][a-z-]+)/g)].map(([, name = '']) => name);
  // Flags of npm scripts, and of all commands.
  const others = ['help', 'help-all', 'policy', 'record', 'replicas'];
  expect(named.filter((name) => !names.has(name) && !others.includes(name))).toEqual([]);
});
