import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';

const lockFile = z.object({
  lockfileVersion: z.literal(3),
  packages: z.record(
    z.string(),
    z.looseObject({
      version: z.string().default(''),
      integrity: z.string().optional(),
      resolved: z.string().optional(),
      link: z.boolean().default(false),
      dev: z.boolean().default(false),
      optional: z.boolean().default(false),
      hasInstallScript: z.boolean().default(false),
    }),
  ),
});

const bill = z.object({
  components: z.array(
    z.object({
      name: z.string(),
      version: z.string(),
      hashes: z.array(z.unknown()).default([]),
    }),
  ),
});

/** Of the linter and the formatter on other systems; their hashes are nowhere to be had here. */
const TOOLS = /^@(oxfmt|oxlint|oxlint-tsgolint)\//;

function packagesOf(path: string) {
  const { packages } = lockFile.parse(JSON.parse(readFileSync(path, 'utf8')));
  return Object.entries(packages)
    .filter(([place]) => place !== '')
    .map(([place, entry]) => ({ name: place.replace(/^.*node_modules\//, ''), ...entry }));
}

test.each(['package-lock.json', 'scripts/bench/peers/package-lock.json'])(
  'every package in %s is known by its hash, and comes from the registry',
  (path) => {
    const packages = packagesOf(path);
    const unknown = packages.filter(({ integrity }) => integrity?.startsWith('sha512-') !== true);
    const isTool = ({ name, dev, optional }: (typeof packages)[number]) =>
      dev && optional && TOOLS.test(name);
    expect(unknown.filter((each) => !isTool(each))).toEqual([]);
    const elsewhere = packages.filter(
      ({ resolved = 'https://registry.npmjs.org/', link }) =>
        link || !resolved.startsWith('https://registry.npmjs.org/'),
    );
    expect(elsewhere).toEqual([]);
    expect(packages.length).toBeGreaterThan(100);
  },
);

test('install scripts are off, and said to be for each package that has one', () => {
  expect(readFileSync('.npmrc', 'utf8')).toMatch(/^ignore-scripts=true$/m);
  const { allowScripts } = z
    .object({ allowScripts: z.record(z.string(), z.boolean()) })
    .parse(JSON.parse(readFileSync('package.json', 'utf8')));
  for (const { name } of packagesOf('package-lock.json').filter((each) => each.hasInstallScript)) {
    expect(allowScripts).toHaveProperty(name, false);
  }
});

test('the bill of materials lists what is installed with the package, and nothing else', () => {
  const text = execFileSync(process.execPath, ['scripts/sbom.mjs'], { encoding: 'utf8' });
  const { components } = bill.parse(JSON.parse(text));
  const nameOf = ({ name, version }: { name: string; version: string }) => `${name}@${version}`;
  const locked = packagesOf('package-lock.json').filter(({ dev }) => !dev);
  expect(new Set(components.map(nameOf))).toEqual(new Set(locked.map(nameOf)));
  expect(components.filter(({ hashes }) => hashes.length === 0)).toEqual([]);
});
