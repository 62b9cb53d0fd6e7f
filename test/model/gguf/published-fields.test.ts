/** Fields that files of published models have, or leave out, and tiny checkpoints do not. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inspectGguf } from '../../../src/model/gguf/gguf-checkpoint.ts';
import {
  bool,
  float,
  float32Tensor,
  ggufBytes,
  text,
  uint,
  type Value,
} from '../../support/gguf-writer.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

type Fields = Readonly<Record<string, Value>>;

const HIDDEN = 32;
const SHAPE: Fields = {
  block_count: uint(2),
  context_length: uint(64),
  embedding_length: uint(HIDDEN),
  feed_forward_length: uint(16),
  'attention.head_count': uint(2),
  'attention.head_count_kv': uint(1),
  'attention.layer_norm_rms_epsilon': float(0.01),
};

async function configOf(architecture: string, fields: Fields, tensors: readonly string[] = []) {
  const all = Object.entries({ ...SHAPE, ...fields });
  const metadata = all.map(([key, value]) => [`${architecture}.${key}`, value]);
  const path = join(await temporaryDirectory(), 'model.gguf');
  await writeFile(
    path,
    ggufBytes({ 'general.architecture': text(architecture), ...Object.fromEntries(metadata) }, [
      float32Tensor('token_embd.weight', [64, HIDDEN], new Float32Array(64 * HIDDEN)),
      ...tensors.map((name) => float32Tensor(name, [HIDDEN], new Float32Array(HIDDEN))),
    ]),
  );
  return (await inspectGguf(path)).config;
}

/** DeepSeek's models with so many experts. */
const latent = (experts: number): Fields => ({
  'attention.kv_lora_rank': uint(16),
  'attention.key_length': uint(24),
  'attention.value_length': uint(16),
  'attention.key_length_mla': uint(32),
  'attention.value_length_mla': uint(16),
  'rope.dimension_count': uint(8),
  expert_count: uint(experts),
  expert_used_count: uint(6),
  expert_shared_count: uint(1),
  leading_dense_block_count: uint(1),
  expert_feed_forward_length: uint(8),
});
const CORRECTED = ['blk.1.exp_probs_b.bias'];

// Moonlight, DeepSeek V3 and Kimi K2; DeepSeek V2 Lite and V2.
test.each([
  [64, CORRECTED, undefined],
  [256, CORRECTED, { count: 8, perToken: 4, scored: 2 }],
  [384, CORRECTED, undefined],
  [64, [], undefined],
  [160, [], { count: 8, perToken: 3, scored: 1 }],
])('%i experts of older files, corrected by %j, are in groups %j', async (count, bias, groups) => {
  const { experts } = await configOf('deepseek2', latent(count), bias);
  expect(experts?.groups).toEqual(groups);
});

test('groups that a file states are those', async () => {
  const stated = { expert_group_count: uint(1), expert_group_used_count: uint(1) };
  const { experts } = await configOf('deepseek2', { ...latent(256), ...stated }, CORRECTED);
  expect(experts?.groups).toBeUndefined();
});

test('factors that the first files of MiniCPM do not say are those of llama.cpp', async () => {
  const older = await configOf('minicpm', {});
  const newer = await configOf('minicpm', {
    embedding_scale: float(12),
    residual_scale: float(1.4 / Math.sqrt(2)),
    logit_scale: float(HIDDEN / 256),
  });
  for (const key of ['embeddingScale', 'logitScale', 'rmsNormEps'] as const) {
    expect(older[key]).toBeCloseTo(newer[key], 6);
  }
  expect(older.logitScale).toBe(256 / HIDDEN);
});

test('one expert of Hunyuan is none', async () => {
  const { experts } = await configOf('hunyuan-dense', { expert_count: uint(1) });
  expect(experts).toBeNull();
});

test('a factor of attention that a file states is in place of YaRN’s own', async () => {
  const { ropeScaling } = await configOf('qwen3', {
    'rope.scaling.type': text('yarn'),
    'rope.scaling.factor': float(4),
    'rope.scaling.original_context_length': uint(16),
    'rope.scaling.yarn_attn_factor': float(1.5),
  });
  expect(ropeScaling).toMatchObject({ type: 'yarn', attentionFactor: 1.5 });
});

test.each([
  [
    'qwen2',
    { 'attention.causal': bool(false) },
    'use_bidirectional_attention is not supported (supported: causal attention)',
  ],
  [
    'deepseek2',
    { ...latent(64), expert_gating_func: uint(2) },
    'scoring_func "sigmoid" is not supported (supported: softmax)',
  ],
])('%s with %o is refused', async (architecture, fields, message) => {
  await expect(configOf(architecture, fields)).rejects.toThrow(message);
});

test.each([
  ['qwen2', 'blk.0.attn_sinks.weight'],
  ['qwen2', 'blk.1.post_attention_norm.weight'],
  ['qwen2', 'output.bias'],
  ['qwen2', 'blk.0.attn_output.bias'],
  ['llama', 'blk.0.attn_norm.bias'],
  ['llama', 'blk.1.ffn_down.scale'],
  ['qwen3', 'blk.0.attn_qkv.bias'],
  ['minimax-m2', 'blk.0.ffn_gate_inp.bias'],
])('%s with a tensor %s is refused', async (architecture, name) => {
  const fields = { expert_count: uint(4), expert_used_count: uint(2) };
  const loaded = configOf(architecture, architecture === 'minimax-m2' ? fields : {}, [name]);
  await expect(loaded).rejects.toThrow(`tensor "${name}" is not supported in ${architecture}`);
});

test('tensors of what is not built are left alone', async () => {
  const { numLayers } = await configOf('qwen2', {}, [
    'blk.0.attn_rot_embd',
    'blk.2.nextn.enorm.weight',
    'v.blk.0.attn_q.weight',
    'mm.0.weight',
  ]);
  expect(numLayers).toBe(2);
});
