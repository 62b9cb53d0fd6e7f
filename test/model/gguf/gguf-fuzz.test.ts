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
import { FUZZ_RUNS, FUZZ_TIMEOUT, fuzzReader } from '../../support/fuzz-reader.ts';

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
  `${FUZZ_RUNS} changed headers give a header or a ModelError, and take no more memory than they have bytes for`,
  () => {
    const { read, refused } = fuzzReader(GOOD, outcomeOf);
    expect(read).toBeGreaterThan(FUZZ_RUNS / 100);
    expect(refused).toBeGreaterThan(FUZZ_RUNS / 10);
  },
  FUZZ_TIMEOUT,
);
