/** Files that were changed here and there, for their readers: CHAIRLIFT_FUZZ_HEADERS=1000000 */
import { expect } from 'vitest';

export const FUZZ_RUNS = Number(process.env['CHAIRLIFT_FUZZ_HEADERS'] ?? 10_000);
/** Milliseconds that a million take, three times over. */
export const FUZZ_TIMEOUT = 600_000;

/** Bytes on the heap that a file may take, per byte of it, and besides. */
const BYTES_PER_BYTE = 64;
const BYTES_BESIDES = 16 * 2 ** 20;

/** Mulberry32. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const TELLING = [
  0n,
  1n,
  7n,
  9n,
  31n,
  2n ** 31n,
  2n ** 32n - 1n,
  2n ** 53n,
  2n ** 60n,
  2n ** 64n - 1n,
];

function mutated(good: Buffer, random: () => number): Buffer {
  const bytes = Buffer.from(good);
  const below = (limit: number) => Math.floor(random() * limit);
  for (let changes = 1 + below(4); changes > 0; changes--) {
    const at = below(bytes.length - 8);
    const kind = below(4);
    if (kind === 0) bytes[at] = below(256);
    if (kind === 1) bytes[at] = (bytes[at] ?? 0) ^ (1 << below(8));
    if (kind === 2) bytes.writeBigUInt64LE(TELLING[below(TELLING.length)] ?? 0n, at);
    if (kind === 3) bytes.copyWithin(at, below(bytes.length - 8), below(bytes.length));
  }
  return random() < 0.1 ? bytes.subarray(0, below(bytes.length)) : bytes;
}

/**
 * Gives a reader many changed files, and looks at what memory each takes.
 * @param outcomeOf throws what is no answer to a damaged file
 * @returns how many were read and refused
 */
export function fuzzReader(good: Buffer, outcomeOf: (bytes: Buffer) => 'read' | 'refused') {
  const random = randomOf(18);
  const outcomes = { read: 0, refused: 0 };
  let most = 0;
  for (let run = 0; run < FUZZ_RUNS; run++) {
    const bytes = mutated(good, random);
    const before = process.memoryUsage();
    outcomes[outcomeOf(bytes)]++;
    const after = process.memoryUsage();
    most = Math.max(
      most,
      after.heapUsed - before.heapUsed,
      after.arrayBuffers - before.arrayBuffers,
    );
  }
  expect(most).toBeLessThan(BYTES_PER_BYTE * good.length + BYTES_BESIDES);
  return outcomes;
}
