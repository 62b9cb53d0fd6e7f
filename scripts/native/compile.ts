/** How native/ is compiled; see build.ts and check.ts. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const sources = join(root, 'native');

export interface Platform {
  readonly compiler: string;
  readonly linker: string;
  readonly strip: string;
  /** Flags by instruction set. */
  readonly instructions: Readonly<Record<string, readonly string[]>>;
}

const AVX512 = [
  ...['-mavx2', '-mfma', '-mf16c', '-mavx512f', '-mavx512bw', '-mavx512dq', '-mavx512vl'],
  '-mavx512vnni',
  // g++ 12 warns of its own header: undefined registers there are meant.
  ...['-Wno-uninitialized', '-Wno-maybe-uninitialized'],
];

export const PLATFORMS: Readonly<Record<string, Platform>> = {
  'linux-x64': {
    compiler: 'g++',
    linker: 'gcc',
    strip: 'strip',
    instructions: {
      // Hardly ever used, so small.
      scalar: ['-Os'],
      avx2: ['-mavx2', '-mfma', '-mf16c'],
      avxvnni: ['-mavx2', '-mfma', '-mf16c', '-mavxvnni'],
      avx512: AVX512,
      amx: [...AVX512, '-mavx512vbmi', '-mamx-tile', '-mamx-int8'],
    },
  },
  'linux-arm64': {
    compiler: 'aarch64-linux-gnu-g++',
    linker: 'aarch64-linux-gnu-gcc',
    strip: 'aarch64-linux-gnu-strip',
    instructions: {
      scalar: ['-Os', '-march=armv8-a'],
      neon: ['-march=armv8.2-a+dotprod'],
      i8mm: ['-march=armv8.2-a+dotprod+i8mm'],
    },
  },
};

export const FLAGS = [
  ...['-std=c++17', '-O3', '-fPIC', '-fvisibility=hidden', '-fno-exceptions', '-fno-rtti'],
  // Products and sums are fused where the source says so, and nowhere else.
  ...['-fno-threadsafe-statics', '-ffp-contract=off', '-fno-math-errno'],
  // Copies of functions for some of their arguments, and of loops for some of their steps, would make the
  // library larger.
  ...['-fno-ipa-cp-clone', '-fno-peel-loops', '-fno-split-loops'],
  // Nothing is thrown, so nobody unwinds.
  '-fno-asynchronous-unwind-tables',
  ...['-Wall', '-Wextra', '-Werror', '-Wno-psabi', '-g0'],
];
export const LINK_FLAGS = [
  '-shared',
  '-static-libgcc',
  '-Wl,--build-id=none',
  '-Wl,-z,now',
  '-Wl,--as-needed',
  // Without pages of padding.
  '-Wl,-z,noseparate-code',
];
const UNITS = [
  ...['runtime', 'dispatch', 'linear-operator', 'attention-operator', 'best-operator'],
  ...['low-rank-operator', 'rows-operator', 'short-convolution-operator', 'recurrence-operator'],
  'state-groups',
];

/** Hash of all that a library is made of. */
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

/** @throws Error for a platform that there are no compilers for */
export function platformOf(name: string): Platform {
  const platform = PLATFORMS[name];
  if (platform) return platform;
  throw new Error(`${name} is not one of ${Object.keys(PLATFORMS).join(', ')}`);
}

/**
 * Compiles everything that a library has, and once for each instruction set what computes.
 * @param folder of the objects
 * @param further flags, which come last
 * @returns the objects
 */
export function compileAll(
  { compiler, instructions }: Platform,
  folder: string,
  further: readonly string[] = [],
): string[] {
  const define = `-DCHAIRLIFT_SOURCES="${sourcesHash()}"`;
  const units = [
    // Code that hands out work takes no time, so small.
    ...UNITS.map((name) => ({ name, source: name, own: ['-Os', define] })),
    ...Object.entries(instructions).map(([name, own]) => ({ name, source: 'instructions', own })),
  ];
  return units.map(({ name, source, own }) => {
    const object = join(folder, `${name}.o`);
    const flags = [...FLAGS, `-ffile-prefix-map=${root}=.`, ...own, ...further];
    const file = join(sources, `${source}.cpp`);
    execFileSync(compiler, [...flags, '-c', file, '-o', object], { stdio: 'inherit' });
    return object;
  });
}
