/**
 * Runs native/check: all instruction sets of this CPU against each other, and what a hostile model may
 * hold, with an address and an undefined-behaviour sanitizer; then NEON, with i8mm and without, under qemu: it must
 * give the same bits, and each of several processors must get the kernels that are for it.
 *
 *   npx tsx scripts/native/check.ts [--cases 1000] [--fuzz-cases 200000] [--fuzz-from 1]
 *
 * A million hostile cases take five minutes. One that fails is named, and `--fuzz-from` begins with it.
 * Needs g++; for NEON aarch64-linux-gnu-g++ and qemu-aarch64-static, and says so where they are not.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compileAll, FLAGS, type Platform, platformOf, sources } from './compile.ts';

const SANITIZE = [
  '-DCHAIRLIFT_CHECKS_TILES',
  '-fsanitize=address,undefined,float-cast-overflow',
  '-fno-sanitize-recover=all',
  '-O1',
  '-g1',
];
/** So that the check decides when there is no memory. */
const WRAP = ['-Wl,--wrap=malloc', '-Wl,--wrap=aligned_alloc'];

/** Processors that qemu emulates, and which kernels they get. */
const ARM_PROCESSORS = { 'cortex-a72': 'scalar', 'neoverse-n1': 'neon', max: 'i8mm' } as const;

const x64 = platformOf('linux-x64');
/** With tiles of AMX in plain code, too: they are checked where no CPU has them, and sanitizers see their bounds. */
const X64: Platform = {
  ...x64,
  instructions: {
    ...x64.instructions,
    tiles: [...(x64.instructions['avx2'] ?? []), '-DCHAIRLIFT_EMULATES_TILES'],
  },
};

const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '1000' },
    'fuzz-cases': { type: 'string', default: '200000' },
    'fuzz-from': { type: 'string', default: '1' },
  },
});

/** Makes the program for a platform. */
function link(
  platform: Platform,
  name: string,
  folder: string,
  further: readonly string[],
): string {
  const compiled = further.filter((flag) => flag !== '-static');
  const objects = compileAll(platform, folder, compiled);
  const program = join(folder, `check-${name}`);
  const source = join(sources, 'check', 'check.cpp');
  const args = [...FLAGS, ...further, ...WRAP, source, ...objects, '-lm', '-o', program];
  execFileSync(platform.compiler, args, { stdio: 'inherit' });
  return program;
}

const run = (program: string, ...args: readonly string[]): string =>
  execFileSync(program, args, { encoding: 'utf8', maxBuffer: 2 ** 26 }).trim();

/** @throws Error when hostile cases missed a reason that operators have to refuse an input */
function checkReasons(fuzzed: string): void {
  const files = readdirSync(sources).filter((name) => name.endsWith('.cpp'));
  const code = files.map((name) => readFileSync(join(sources, name), 'utf8')).join('\n');
  const told = code.matchAll(/\b(?:failure|check)\((?:[^";]|"")*"([^"]+)"/g);
  const reasons = [...new Set(Array.from(told, ([, text]) => text ?? ''))];
  const missed = reasons.filter((text) => !fuzzed.includes(` x ${text}`));
  if (missed.length > 0) throw new Error(`no case was refused because ${missed.join('; ')}`);
  console.log(`each of ${reasons.length} reasons to refuse one was met`);
}

const has = (program: string): boolean => spawnSync(program, ['--version']).error === undefined;

const folder = mkdtempSync(join(tmpdir(), 'chairlift-check-'));
try {
  const program = link(X64, 'linux-x64', folder, SANITIZE);
  const bits = run(program, 'compare', values.cases);
  console.log(`linux-x64, ${values.cases} cases: ${bits}`);
  const fuzzed = run(program, 'fuzz', values['fuzz-from'], values['fuzz-cases']);
  console.log(`linux-x64, ${values['fuzz-cases']} hostile cases:\n${fuzzed}`);
  checkReasons(fuzzed);
  if (has('aarch64-linux-gnu-g++') && has('qemu-aarch64-static')) {
    const arm = link(platformOf('linux-arm64'), 'linux-arm64', folder, ['-static']);
    for (const [cpu, expected] of Object.entries(ARM_PROCESSORS)) {
      const best = run('qemu-aarch64-static', '-cpu', cpu, arm, 'best');
      if (best !== expected) throw new Error(`${cpu} gets ${best} instead of ${expected}`);
    }
    // It has all of them.
    const armBits = run('qemu-aarch64-static', '-cpu', 'max', arm, 'compare', values.cases);
    console.log(`linux-arm64, ${values.cases} cases: ${armBits}`);
    if (armBits !== bits) throw new Error('NEON gives other bits');
  } else {
    console.log('linux-arm64: no aarch64-linux-gnu-g++ or no qemu-aarch64-static, not checked');
  }
} finally {
  rmSync(folder, { recursive: true });
}
