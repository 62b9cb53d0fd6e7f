/**
 * Packs Chairlift for one platform: the files of `npm pack`, and with them ONNX Runtime's library for that
 * platform alone; links of documents to files that are left out become text. onnxruntime-node of the registry has those of all platforms, and an install script that
 * fails the whole install where it can't download CUDA's.
 *
 *   npm run package [-- --platform linux-x64] [--out FOLDER]
 *
 * The file is chairlift-VERSION-PLATFORM.tgz. `npm install` of it gets the other packages from the registry.
 */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { packedLinks } from './packed-links.ts';

const RUNTIME = 'onnxruntime-node';
const LICENSE = join(import.meta.dirname, 'onnxruntime-license.txt');

const { values } = parseArgs({
  options: {
    platform: { type: 'string', default: `${process.platform}-${process.arch}` },
    out: { type: 'string', default: '.' },
  },
});

const packed = z.tuple([
  z.object({ filename: z.string(), files: z.array(z.object({ path: z.string() })) }),
]);
/** Fields of package.json that users of a package read. */
const PUBLIC = [
  ...['name', 'version', 'description', 'keywords', 'license', 'author'],
  ...['repository', 'bugs', 'homepage', 'engines', 'type', 'files', 'bin', 'exports'],
  ...['peerDependencies', 'peerDependenciesMeta'],
];
const manifest = z.looseObject({
  version: z.string(),
  dependencies: z.record(z.string(), z.string()),
});

function readManifest(folder: string) {
  const text = readFileSync(join(folder, 'package.json'), 'utf8');
  const { version, dependencies, ...others } = manifest.parse(JSON.parse(text));
  const fields = Object.entries({ version, ...others }).filter(([name]) => PUBLIC.includes(name));
  return { version, dependencies, fields: Object.fromEntries(fields) };
}

function writeManifest(folder: string, fields: object): void {
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(fields, null, 2)}\n`);
}

function npmPack(folder: string, ...args: string[]): z.infer<typeof packed>[0] {
  const output = execFileSync('npm', ['pack', '--json', ...args], {
    cwd: folder,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  return packed.parse(JSON.parse(output))[0];
}

/** Systems that may install the package, as package.json has them. */
function systems(platform: string) {
  const [os = '', cpu = ''] = platform.split('-');
  return { os: [os], cpu: [cpu], ...(os === 'linux' ? { libc: ['glibc'] } : {}) };
}

/** Copies what a server loads of onnxruntime-node. @returns its version */
function copyRuntime(from: string, to: string, platform: string): string {
  const libraries = join('bin', 'napi-v6', ...platform.split('-'));
  if (!existsSync(join(from, libraries))) {
    throw new Error(`${RUNTIME} has no library for ${platform}`);
  }
  cpSync(join(from, libraries), join(to, libraries), {
    recursive: true,
    // Not its binding to Node.js, nor the same library under its full version.
    filter: (path) => !/(\.node|\.\d+\.\d+\.\d+\.dylib)$/.test(path),
  });
  cpSync(LICENSE, join(to, 'LICENSE'));
  const { version, fields } = readManifest(from);
  const description = `ONNX Runtime's library for ${platform}, out of ${RUNTIME} ${version}`;
  writeManifest(to, { ...fields, description, ...systems(platform) });
  return version;
}

function pack(platform: string, out: string): string {
  const staging = mkdtempSync(join(tmpdir(), 'chairlift-package-'));
  try {
    const paths = npmPack('.', '--dry-run').files.map(({ path }) => path);
    for (const path of paths) {
      const target = join(staging, path);
      mkdirSync(dirname(target), { recursive: true });
      if (path.endsWith('.md')) {
        writeFileSync(target, packedLinks(readFileSync(path, 'utf8'), path, paths));
      } else {
        cpSync(path, target);
      }
    }
    const version = copyRuntime(
      join('node_modules', RUNTIME),
      join(staging, 'node_modules', RUNTIME),
      platform,
    );
    const { dependencies, fields } = readManifest('.');
    writeManifest(staging, {
      ...fields,
      dependencies: { ...dependencies, [RUNTIME]: version },
      bundleDependencies: [RUNTIME],
      ...systems(platform),
    });
    const { filename } = npmPack(staging);
    mkdirSync(out, { recursive: true });
    const path = join(resolve(out), filename.replace(/\.tgz$/, `-${platform}.tgz`));
    cpSync(join(staging, filename), path);
    return path;
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

console.log(pack(values.platform, values.out));
