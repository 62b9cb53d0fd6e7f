import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LINUX_X64, needs } from '../support/needs.ts';
import { isIn, packedLinks } from '../../scripts/package/packed-links.ts';
import { linksOf } from '../docs/support/pages.ts';

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

/** Packages of the linter and the formatter on other systems; their hashes are nowhere to be had here. */
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

test('every longer suite is described, and runs in continuous integration', () => {
  const { scripts } = z
    .object({ scripts: z.record(z.string(), z.string()) })
    .parse(JSON.parse(readFileSync('package.json', 'utf8')));
  const suites = Object.keys(scripts).filter((name) => name.startsWith('test:'));
  expect(suites.length).toBeGreaterThan(5);
  for (const path of ['CONTRIBUTING.md', '.ci/run']) {
    const text = readFileSync(path, 'utf8');
    for (const name of suites) expect(text, path).toMatch(new RegExp(`npm run (-s )?${name}\\b`));
  }
});

describe('npm pack', () => {
  const packed = z.tuple([z.object({ files: z.array(z.object({ path: z.string() })) })]);
  let paths: string[];
  beforeAll(() => {
    const output = execFileSync('npm', ['pack', '--dry-run', '--json'], { encoding: 'utf8' });
    paths = packed.parse(JSON.parse(output))[0].files.map(({ path }) => path);
  });

  test('takes what runs, and what it refers to', () => {
    const needed = [
      ...['LICENSE', 'README.md', 'dist/cli/main.js', 'dist/client/resumable-stream.js'],
      ...['dist/web/index.html', 'models/summit/model.safetensors', 'deploy/haproxy/haproxy.cfg'],
      ...['native/prebuilt/libraries.json', 'docs/operating.md', 'docs/gpu.md'],
    ];
    expect(needed.filter((path) => !paths.includes(path))).toEqual([]);
    const { exports } = z
      .object({
        exports: z.record(z.string(), z.union([z.string(), z.record(z.string(), z.string())])),
      })
      .parse(JSON.parse(readFileSync('package.json', 'utf8')));
    const targets = Object.values(exports).flatMap((to) =>
      typeof to === 'string' ? [to] : Object.values(to),
    );
    expect(targets.filter((path) => !paths.includes(path.replace('./', '')))).toEqual([]);
  });

  test('has documents whose links lead somewhere, once `npm run package` made them', () => {
    const documents = paths.filter((path) => path.endsWith('.md'));
    expect(documents.length).toBeGreaterThan(20);
    let numDead = 0;
    for (const path of documents) {
      const text = readFileSync(path, 'utf8');
      numDead += linksOf(text).filter((link) => !isIn(link, path, paths)).length;
      const dead = linksOf(packedLinks(text, path, paths)).filter(
        (link) => !isIn(link, path, paths),
      );
      expect(dead, path).toEqual([]);
    }
    // Benchmarks and pictures are left out: the test would prove nothing without links to them.
    expect(numDead).toBeGreaterThan(0);
    const line =
      '![A chart](images/a.svg): [benchmarks](benchmarks.md#a), [more](gpu.md#b), [web](https://a.example)';
    expect(packedLinks(line, 'docs/b.md', ['docs/gpu.md'])).toBe(
      'A chart: benchmarks, [more](gpu.md#b), [web](https://a.example)',
    );
  });

  test('leaves the rest', () => {
    expect(paths.filter((path) => path.endsWith('.map') || /(^|\/)\./.test(path))).toEqual([]);
    // Nobody can import others; that these are enough is test/e2e/package.test.ts.
    const types = paths.filter((path) => path.endsWith('.d.ts'));
    expect(types).toContain('dist/index.d.ts');
    expect(
      types.filter((path) => /^dist\/(cli|bench|lambda|onnx|optimize|grpc)\//.test(path)),
    ).toEqual([]);
    expect(types.length).toBeLessThan(100);
    expect(
      paths.filter((path) =>
        /^(src|test|scripts|docs\/(images\/|data\/|benchmarks|performance))/.test(path),
      ),
    ).toEqual([]);
  });
});

test(
  "onnxruntime-node's install script fails where it can't download, and can be skipped",
  needs(LINUX_X64),
  () => {
    const { npm_config_local_prefix: _, npm_package_json: _p, ...env } = process.env;
    const install = (variables: NodeJS.ProcessEnv) =>
      spawnSync(process.execPath, ['node_modules/onnxruntime-node/script/install.js'], {
        env: { ...env, GLOBAL_AGENT_HTTPS_PROXY: 'http://127.0.0.1:9', ...variables },
        encoding: 'utf8',
      });
    const failed = install({ ONNXRUNTIME_NODE_INSTALL: undefined });
    expect(failed.status).toBe(1);
    expect(failed.stderr).toContain('ECONNREFUSED 127.0.0.1:9');
    expect(install({ ONNXRUNTIME_NODE_INSTALL: 'skip' }).status).toBe(0);
  },
);

test('no documentation installs the package from a registry, where there is none', () => {
  const pages = readdirSync('docs').filter((name) => name.endsWith('.md'));
  for (const path of ['README.md', 'CONTRIBUTING.md', ...pages.map((name) => `docs/${name}`)]) {
    expect(readFileSync(path, 'utf8'), path).not.toMatch(
      /npm (install|i|add) (.* )?chairlift\b(?![-.])/,
    );
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
