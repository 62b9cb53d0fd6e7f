/**
 * Compiles native/ to a library for each platform, the same bytes every time: with Debian 12's g++ 12.2
 * and its cross compiler. Users need none of it, the libraries come with the package.
 *
 *   npm run build:native -- [linux-x64] [linux-arm64] [--out <folder>] [--sanitize]
 *
 * What a library is made of is in it as a hash, see `sourcesHash`; libraries.json has the library's own.
 * With --sanitize the library checks addresses and undefined behaviour, and is not for shipping.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));
const sources = join(root, 'native');
const LIST = 'libraries.json';

interface Platform {
  readonly compiler: string;
  readonly linker: string;
  readonly strip: string;
  /** Flags by instruction set. */
  readonly instructions: Readonly<Record<string, readonly string[]>>;
}

const PLATFORMS: Readonly<Record<string, Platform>> = {
  'linux-x64': {
    compiler: 'g++',
    linker: 'gcc',
    strip: 'strip',
    instructions: {
      // Hardly ever used, so small.
      scalar: ['-Os'],
      avx2: ['-mavx2', '-mfma', '-mf16c'],
      avx512: [
        ...['-mavx2', '-mfma', '-mf16c', '-mavx512f', '-mavx512bw', '-mavx512dq', '-mavx512vl'],
        '-mavx512vnni',
        // g++ 12 warns of its own header: undefined registers there are meant.
        ...['-Wno-uninitialized', '-Wno-maybe-uninitialized'],
      ],
    },
  },
  'linux-arm64': {
    compiler: 'aarch64-linux-gnu-g++',
    linker: 'aarch64-linux-gnu-gcc',
    strip: 'aarch64-linux-gnu-strip',
    instructions: { scalar: ['-Os', '-march=armv8-a'], neon: ['-march=armv8.2-a+dotprod'] },
  },
};

const FLAGS = [
  ...['-std=c++17', '-O3', '-fPIC', '-fvisibility=hidden', '-fno-exceptions', '-fno-rtti'],
  // Products and sums are fused where the source says so, and nowhere else.
  ...['-fno-threadsafe-statics', '-ffp-contract=off', '-fno-math-errno'],
  ...['-Wall', '-Wextra', '-Werror', '-Wno-psabi', '-g0'],
];
const LINK_FLAGS = [
  '-shared',
  '-static-libgcc',
  '-Wl,--build-id=none',
  '-Wl,-z,now',
  '-Wl,--as-needed',
];
const SANITIZE = ['-fsanitize=address,undefined', '-fno-sanitize-recover=all', '-g1', '-O1'];

/** Of all that a library is made of. */
export function sourcesHash(): string {
  const hash = createHash('sha256');
  const files = readdirSync(sources).filter((name) => /\.(h|cpp)$/.test(name));
  for (const name of files.sort()) {
    hash
      .update(`${name}\0`)
      .update(readFileSync(join(sources, name)))
      .update('\0');
  }
  // How they are compiled is part of what comes out.
  return hash.update(JSON.stringify([PLATFORMS, FLAGS, LINK_FLAGS])).digest('hex');
}

/** @returns the library's hash */
function build(platform: string, folder: string, isSanitized: boolean): string {
  const target = PLATFORMS[platform];
  if (!target) throw new Error(`${platform} is not one of ${Object.keys(PLATFORMS).join(', ')}`);
  const { compiler, linker, strip, instructions } = target;
  const work = mkdtempSync(join(tmpdir(), 'chairlift-native-'));
  const flags = [...FLAGS, `-ffile-prefix-map=${root}=.`, ...(isSanitized ? SANITIZE : [])];
  const objects: string[] = [];
  const compile = (source: string, object: string, own: readonly string[]) => {
    const path = join(work, object);
    const file = join(sources, source);
    execFileSync(compiler, [...flags, ...own, '-c', file, '-o', path], { stdio: 'inherit' });
    objects.push(path);
  };
  const define = `-DCHAIRLIFT_SOURCES="${sourcesHash()}"`;
  for (const name of ['runtime', 'dispatch', 'linear-operator', 'attention-operator']) {
    compile(`${name}.cpp`, `${name}.o`, [define]);
  }
  for (const [name, own] of Object.entries(instructions)) {
    compile('instructions.cpp', `${name}.o`, own);
  }
  mkdirSync(join(folder, platform), { recursive: true });
  const library = join(folder, platform, 'libchairlift.so');
  const linkFlags = isSanitized ? ['-shared', ...SANITIZE] : LINK_FLAGS;
  execFileSync(linker, [...linkFlags, ...objects, '-lm', '-o', library], { stdio: 'inherit' });
  if (!isSanitized) execFileSync(strip, ['--strip-all', library], { stdio: 'inherit' });
  rmSync(work, { recursive: true });
  return createHash('sha256').update(readFileSync(library)).digest('hex');
}

function main(): void {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      out: { type: 'string', default: join(sources, 'prebuilt') },
      sanitize: { type: 'boolean', default: false },
    },
  });
  const list = join(values.out, LIST);
  const libraries = readList(list);
  for (const platform of positionals.length > 0 ? positionals : Object.keys(PLATFORMS)) {
    const sha256 = build(platform, values.out, values.sanitize);
    libraries[platform] = { sha256, sources: sourcesHash() };
    console.log(`${platform}: ${sha256}`);
  }
  const sorted = Object.fromEntries(Object.entries(libraries).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync(list, `${JSON.stringify(sorted, null, 2)}\n`);
}

function readList(path: string): Record<string, unknown> {
  return existsSync(path)
    ? (JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>)
    : {};
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
