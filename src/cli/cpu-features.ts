import { readFileSync } from 'node:fs';

/** What Linux calls the instructions that ONNX Runtime's kernels for int8 products need. */
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
