/** Tensors that a file has as rows of another: queries, keys and values, and gates and ups of experts. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inspectGguf } from '../../../src/model/gguf/gguf-checkpoint.ts';
import { dequantize } from '../../../src/model/quantize/stored-blocks.ts';
import { float, float32Tensor, ggufBytes, text, uint } from '../../support/gguf-writer.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const [HIDDEN, HEAD_DIM, HEADS, KEYS, EXPERTS, WIDTH] = [32, 16, 3, 1, 2, 8];
const QUERIES = HEADS * HEAD_DIM;
const ALL = QUERIES + 2 * KEYS * HEAD_DIM;

/** A row of Q8_0, one block: its number in all of them. */
function rows(name: string, shape: readonly number[]) {
  const count = shape.slice(0, -1).reduce((product, size) => product * size, 1);
  const bytes = Uint8Array.from({ length: count * 34 }, (_, at) => Math.floor(at / 34));
  for (let row = 0; row < count; row++) bytes.set([0, 0x3c], row * 34);
  return { name, shape, type: 8, bytes };
}

async function weightsOf(numRows: number) {
  const fields = {
    block_count: uint(1),
    context_length: uint(64),
    embedding_length: uint(HIDDEN),
    feed_forward_length: uint(WIDTH),
    expert_feed_forward_length: uint(WIDTH),
    expert_count: uint(EXPERTS),
    expert_used_count: uint(1),
    'attention.head_count': uint(HEADS),
    'attention.head_count_kv': uint(KEYS),
    'attention.key_length': uint(HEAD_DIM),
    'attention.layer_norm_rms_epsilon': float(0.01),
  };
  const metadata = Object.entries(fields).map(([key, value]) => [`qwen3moe.${key}`, value]);
  const path = join(await temporaryDirectory(), 'model.gguf');
  await writeFile(
    path,
    ggufBytes({ 'general.architecture': text('qwen3moe'), ...Object.fromEntries(metadata) }, [
      float32Tensor('token_embd.weight', [64, HIDDEN], new Float32Array(64 * HIDDEN)),
      rows('blk.0.attn_qkv.weight', [numRows, HIDDEN]),
      rows('blk.0.ffn_gate_up_exps.weight', [EXPERTS, 2 * WIDTH, HIDDEN]),
    ]),
  );
  return (await inspectGguf(path)).open();
}

test.each([
  ['self_attn.q_proj', QUERIES, 0],
  ['self_attn.k_proj', HEAD_DIM, QUERIES],
  ['self_attn.v_proj', HEAD_DIM, QUERIES + HEAD_DIM],
  ['mlp.experts.0.gate_proj', WIDTH, 0],
  ['mlp.experts.0.up_proj', WIDTH, WIDTH],
  ['mlp.experts.1.gate_proj', WIDTH, 2 * WIDTH],
  ['mlp.experts.1.up_proj', WIDTH, 3 * WIDTH],
])('%s is %i rows from row %i on', async (suffix, count, first) => {
  const weights = await weightsOf(ALL);
  const name = `model.layers.0.${suffix}.weight`;
  const shape = [count, HIDDEN] as const;
  const expected = Float32Array.from(
    { length: count * HIDDEN },
    (_, at) => first + Math.floor(at / HIDDEN),
  );
  expect(await weights.get(name, shape)).toEqual(expected);
  const values: number[] = [];
  for await (const piece of weights.pieces?.(name, shape) ?? []) values.push(...piece);
  expect(values).toEqual([...expected]);
  expect(weights.typeOf?.(name)).toBe('Q8_0');
  const layout = weights.layout?.(name, shape);
  const integers = await weights.integers?.(name, shape);
  const pieces = weights.integerPieces?.(name, shape);
  if (!layout || !integers || !pieces) throw new TypeError('blocks of integers');
  expect(dequantize(integers, layout, HIDDEN)).toEqual(expected);
  const inPieces: number[] = [];
  for await (const piece of pieces) inPieces.push(...dequantize(piece, layout, HIDDEN));
  expect(inPieces).toEqual([...expected]);
  await weights.close();
});

test('of other rows in all than queries, keys and values have is refused', async () => {
  const weights = await weightsOf(ALL + 1);
  await expect(
    weights.get('model.layers.0.self_attn.k_proj.weight', [HEAD_DIM, HIDDEN]),
  ).rejects.toThrow(`tensor "blk.0.attn_qkv.weight" has shape [81, 32], expected [80, 32]`);
  await weights.close();
});
