/** CHAIRLIFT_FUZZ_HEADERS=1000000 npx vitest run test/model/gguf/gguf-fuzz.test.ts */
import { expect, test } from 'vitest';
import { parseGgufHeader } from '../../../src/model/gguf/gguf-header.ts';
import { ModelError } from '../../../src/model/model-error.ts';
import {
  bool,
  float32s,
  float32Tensor,
  ggufBytes,
  int32s,
  text,
  texts,
  uint,
} from '../../support/gguf-writer.ts';

/** Milliseconds that a million take, three times over. */
const TIMEOUT = 600_000;
const RUNS = Number(process.env['CHAIRLIFT_FUZZ_HEADERS'] ?? 10_000);
/** Bytes on the heap that a header may take, per byte of it, and besides. */
const BYTES_PER_BYTE = 64;
const BYTES_BESIDES = 16 * 2 ** 20;

const GOOD = ggufBytes(
  {
    'general.architecture': text('llama'),
    'general.alignment': uint(32),
    'llama.block_count': uint(2),
    'tokenizer.ggml.tokens': texts(['a', 'b', '<unk>']),
    'tokenizer.ggml.scores': float32s([0, -1, -2]),
    'tokenizer.ggml.token_type': int32s([1, 1, 2]),
    'tokenizer.ggml.add_bos_token': bool(false),
  },
  [
    float32Tensor('token_embd.weight', [3, 4], new Float32Array(12)),
    { name: 'blk.0.attn_q.weight', shape: [2, 32], type: 2, bytes: new Uint8Array(36) },
  ],
);

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

function mutated(random: () => number): Buffer {
  const bytes = Buffer.from(GOOD);
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

/** @throws what is no answer to a damaged file; all bytes are there, so that none more can be asked for */
function outcomeOf(bytes: Buffer): 'read' | 'refused' {
  try {
    parseGgufHeader(bytes, bytes.length, 'x.gguf');
    return 'read';
  } catch (error) {
    if (error instanceof ModelError && /^x\.gguf\b/.test(error.message)) return 'refused';
    throw error;
  }
}

test(
  `${RUNS} changed headers give a header or a ModelError, and take no more memory than they have bytes for`,
  () => {
    const random = randomOf(18);
    const outcomes = { read: 0, refused: 0 };
    let most = 0;
    for (let run = 0; run < RUNS; run++) {
      const bytes = mutated(random);
      const before = process.memoryUsage();
      outcomes[outcomeOf(bytes)]++;
      const after = process.memoryUsage();
      most = Math.max(
        most,
        after.heapUsed - before.heapUsed,
        after.arrayBuffers - before.arrayBuffers,
      );
    }
    expect(most).toBeLessThan(BYTES_PER_BYTE * GOOD.length + BYTES_BESIDES);
    expect(outcomes.read).toBeGreaterThan(RUNS / 100);
    expect(outcomes.refused).toBeGreaterThan(RUNS / 10);
  },
  TIMEOUT,
);
