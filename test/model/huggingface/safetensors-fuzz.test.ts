/** CHAIRLIFT_FUZZ_HEADERS=1000000 npx vitest run test/model/huggingface/safetensors-fuzz.test.ts */
import { expect, test } from 'vitest';
import {
  parseSafetensorsHeader,
  safetensorsHeaderBytes,
} from '../../../src/model/huggingface/safetensors-header.ts';
import { ModelError } from '../../../src/model/model-error.ts';
import { FUZZ_RUNS, FUZZ_TIMEOUT, fuzzReader } from '../../support/fuzz-reader.ts';

const HEADER = Buffer.from(
  JSON.stringify({
    __metadata__: { format: 'pt' },
    'model.embed_tokens.weight': { dtype: 'F32', shape: [2, 4], data_offsets: [0, 32] },
    'model.norm.weight': { dtype: 'BF16', shape: [4], data_offsets: [32, 40] },
    'lm_head.qweight': { dtype: 'I32', shape: [2, 2], data_offsets: [40, 56] },
  }),
);
const LENGTH = Buffer.alloc(8);
LENGTH.writeBigUInt64LE(BigInt(HEADER.length));
const GOOD = Buffer.concat([LENGTH, HEADER, Buffer.alloc(56)]);

/** Every tensor of a header that is read lies in the file. */
function outcomeOf(bytes: Buffer): 'read' | 'refused' {
  try {
    const length = safetensorsHeaderBytes(bytes, bytes.length, 'x.safetensors');
    const header = bytes.subarray(8, 8 + length);
    const entries = parseSafetensorsHeader(header, bytes.length, 'x.safetensors');
    for (const { offset, byteLength } of entries.values()) {
      if (offset < 8 + length || offset + byteLength > bytes.length) {
        throw new Error(`a tensor from ${offset} on has ${byteLength} bytes`);
      }
    }
    return 'read';
  } catch (error) {
    if (error instanceof ModelError && /^x\.safetensors\b/.test(error.message)) return 'refused';
    throw error;
  }
}

test(
  `${FUZZ_RUNS} changed headers give tensors in the file or a ModelError, and take no more memory than they have bytes for`,
  () => {
    const { read, refused } = fuzzReader(GOOD, outcomeOf);
    expect(read).toBeGreaterThan(FUZZ_RUNS / 100);
    expect(refused).toBeGreaterThan(FUZZ_RUNS / 10);
  },
  FUZZ_TIMEOUT,
);
