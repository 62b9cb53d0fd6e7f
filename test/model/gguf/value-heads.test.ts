/** Heads of values that a file has in another order than safetensors: first those of all keys, then the second of all. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inspectGguf } from '../../../src/model/gguf/gguf-checkpoint.ts';
import { dequantize } from '../../../src/model/quantize/stored-blocks.ts';
import { float, float32Tensor, ggufBytes, int32s, text, uint } from '../../support/gguf-writer.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const [HIDDEN, HEADS, KEYS, KEY_DIM] = [32, 4, 2, 16];
/** By place in safetensors, the place of a head in a file. */
const PLACES = [0, 2, 1, 3];
const Q8_0 = { type: 8, blockSize: 32 };

/** Blocks of 1 times what `valueOf` says of each. */
function blocks(
  name: string,
  shape: readonly [number, number],
  valueOf: (block: number) => number,
) {
  const count = (shape[0] * shape[1]) / Q8_0.blockSize;
  const bytes = Uint8Array.from({ length: count * 34 }, (_, at) => valueOf(Math.floor(at / 34)));
  for (let block = 0; block < count; block++) bytes.set([0, 0x3c], block * 34);
  return { name, shape, type: Q8_0.type, bytes };
}

async function weightsOf(valueDim: number) {
  const perHead = valueDim / Q8_0.blockSize;
  const width = HEADS * valueDim;
  const path = join(await temporaryDirectory(), 'model.gguf');
  const ofArchitecture = {
    block_count: uint(2),
    context_length: uint(64),
    embedding_length: uint(HIDDEN),
    feed_forward_length: uint(32),
    'attention.head_count': uint(2),
    'attention.head_count_kv': uint(1),
    'attention.key_length': uint(32),
    'attention.layer_norm_rms_epsilon': float(0.01),
    'rope.dimension_count': uint(8),
    'ssm.conv_kernel': uint(4),
    'ssm.state_size': uint(KEY_DIM),
    'ssm.group_count': uint(KEYS),
    'ssm.time_step_rank': uint(HEADS),
    'ssm.inner_size': uint(width),
    'attention.recurrent_layers': int32s([1, 0]),
  };
  const metadata = Object.entries(ofArchitecture).map(([key, value]) => [`qwen35.${key}`, value]);
  const packed = 2 * KEYS * KEY_DIM;
  await writeFile(
    path,
    ggufBytes({ 'general.architecture': text('qwen35'), ...Object.fromEntries(metadata) }, [
      float32Tensor('token_embd.weight', [64, HIDDEN], new Float32Array(64 * HIDDEN)),
      blocks(
        'blk.0.ssm_out.weight',
        [HIDDEN, width],
        (block) => Math.floor(block / perHead) % HEADS,
      ),
      // Rows that are no heads of values are 9.
      blocks('blk.0.attn_qkv.weight', [packed + width, HIDDEN], (row) =>
        row < packed ? 9 : Math.floor((row - packed) / valueDim),
      ),
    ]),
  );
  return (await inspectGguf(path)).open();
}

test.each([32, 128])(
  'of %i dimensions are put in order, as floats and as integers',
  async (valueDim) => {
    const weights = await weightsOf(valueDim);
    const width = HEADS * valueDim;
    const packed = 2 * KEYS * KEY_DIM;
    const inHeads = (at: number) => PLACES[Math.floor(at / valueDim) % HEADS] ?? NaN;
    for (const [name, shape, expected] of [
      ['out_proj', [HIDDEN, width], (at: number) => inHeads(at % width)],
      [
        'in_proj_qkv',
        [packed + width, HIDDEN],
        (at: number) => (at < packed * HIDDEN ? 9 : inHeads(Math.floor(at / HIDDEN) - packed)),
      ],
    ] as const) {
      const full = `model.layers.0.linear_attn.${name}.weight`;
      const wanted = Float32Array.from({ length: shape[0] * shape[1] }, (_, at) => expected(at));
      expect(await weights.get(full, shape)).toEqual(wanted);
      const layout = weights.layout?.(full, shape);
      const integers = await weights.integers?.(full, shape);
      if (!layout || !integers) throw new TypeError('blocks of integers');
      expect(dequantize(integers, layout, shape[1])).toEqual(wanted);
    }
    await weights.close();
  },
);

test('are no integers of a build where a block is of several', async () => {
  const weights = await weightsOf(32);
  const name = 'model.layers.0.linear_attn.out_proj.weight';
  expect(weights.layout?.(name, [2 * HIDDEN, 64])).toBeNull();
  await weights.close();
});
