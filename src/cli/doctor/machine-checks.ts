/** The machine and what this process may take of it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { coreLimits, usableCores } from '../../ort/usable-cores.ts';
import { LIMITS } from '../../limits.ts';
import { hasFastInt8, mayOverflowInt8 } from '../../ort/cpu-features.ts';
import { formatBytes } from '../terminal/text-format.ts';
import { freeMemory } from '../../ort/free-memory.ts';
import { broken, type Check, ok, warning } from './check.ts';

/** The two processes of a server with a small model take 300 MB. */
const LEAST_MEMORY = 512 * 2 ** 20;
/** From here on the KV cache, which takes half, is large enough for several long chats. */
const GOOD_MEMORY = 2 * 2 ** 30;

/** The files of both processes, their libraries and pipes. */
const OWN_DESCRIPTORS = 128;

/** @param wanted lowest version, such as `20.19` */
export function nodeCheck(wanted: string, version = process.versions.node): Check {
  const found = `${version} (needs ${wanted} or newer)`;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = wanted.split('.').map(Number);
  const isNew = major > leastMajor || (major === leastMajor && minor >= leastMinor);
  return isNew
    ? ok('Node.js', found)
    : broken('Node.js', found, 'install a newer Node.js: https://nodejs.org');
}

export function cpuCheck(fastInt8 = hasFastInt8(), mayOverflow = mayOverflowInt8()): Check {
  const kind = `${process.platform} ${process.arch}`;
  if (!fastInt8) {
    const advice =
      'models run in fp32 here; an x64 CPU with AVX2 or an Arm CPU with dot products is faster';
    return warning('CPU', `${kind}, no fast int8`, advice);
  }
  const instructions = mayOverflow ? 'fast int8, without VNNI' : 'fast int8';
  return ok('CPU', `${kind}, ${instructions}`);
}

/** @param root of the file system; for tests */
export function coresCheck(root = '/'): Check {
  const { cores, quota } = coreLimits(root);
  const usable = usableCores(root);
  const found = `${usable} usable, of ${cores}${quota === Infinity ? '' : `; quota ${quota}`}`;
  if (quota >= 1) return ok('cores', found);
  return warning(
    'cores',
    found,
    'give the container at least one CPU: with less, every step is interrupted',
  );
}

export function memoryCheck(bytes = freeMemory()): Check {
  const found = `${formatBytes(bytes)} free`;
  if (bytes >= GOOD_MEMORY) return ok('memory', found);
  const advice = `free some, or give the container more: ${formatBytes(GOOD_MEMORY)} is good for a small model`;
  if (bytes >= LEAST_MEMORY) return warning('memory', found, advice);
  return broken('memory', found, advice);
}

/**
 * Node raises the limit to the highest that it may have by itself.
 * @param root of the file system; for tests
 */
export function descriptorsCheck(root = '/'): Check {
  const limit = descriptorLimit(root);
  if (limit === null) return ok('file descriptors', 'unknown on this system');
  const found = `${limit}`;
  const wanted = LIMITS.connections + OWN_DESCRIPTORS;
  if (limit >= wanted) return ok('file descriptors', found);
  const advice = `raise the limit to ${wanted} (ulimit -n; LimitNOFILE with systemd), or lower --max-connections`;
  if (limit >= 2 * OWN_DESCRIPTORS) return warning('file descriptors', found, advice);
  return broken('file descriptors', found, advice);
}

function descriptorLimit(root: string): number | null {
  let text: string;
  try {
    text = readFileSync(join(root, 'proc/self/limits'), 'utf8');
  } catch {
    return null;
  }
  const limit = /^Max open files\s+(\d+|unlimited)/m.exec(text)?.[1];
  if (limit === undefined) return null;
  return limit === 'unlimited' ? Infinity : Number(limit);
}
