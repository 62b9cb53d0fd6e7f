import { readFileSync } from 'node:fs';

/** Linux's names of the instructions that ONNX Runtime's int8 kernels need. */
const NEEDED_FLAGS: Readonly<Record<string, string>> = { x64: 'avx2', arm64: 'asimddp' };

/**
 * Whether this CPU multiplies int8 faster than float32 under ONNX Runtime. Taken for granted
 * where it cannot be asked: every Mac with Apple's chips can, and nearly every PC.
 */
export function hasFastInt8(): boolean {
  const needed = NEEDED_FLAGS[process.arch];
  if (needed === undefined) return false;
  const text = process.platform === 'linux' ? readCpuInfo() : null;
  return text === null || hasFlag(text, needed);
}

/** Products of unsigned and signed bytes that are summed in 32 bits at once, under Linux's names. */
const VNNI_FLAGS = ['avx512_vnni', 'avx_vnni'];

/**
 * Whether ONNX Runtime's kernels for products of unsigned and signed bytes may overflow on this CPU:
 * those of x64 without VNNI sum pairs in 16 bits. Taken for granted where it cannot be asked.
 */
export function mayOverflowInt8(): boolean {
  if (process.arch !== 'x64') return false;
  const text = process.platform === 'linux' ? readCpuInfo() : null;
  return text === null || !VNNI_FLAGS.some((flag) => hasFlag(text, flag));
}

/** Whether the text of /proc/cpuinfo lists a flag. */
export function hasFlag(cpuInfo: string, flag: string): boolean {
  const flags = /^(?:flags|Features)\s*:(.*)$/m.exec(cpuInfo)?.[1] ?? '';
  return flags.trim().split(/\s+/).includes(flag);
}

function readCpuInfo(): string | null {
  try {
    return readFileSync('/proc/cpuinfo', 'utf8');
  } catch {
    return null;
  }
}
