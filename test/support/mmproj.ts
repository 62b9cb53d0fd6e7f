/** Files with the part of a GGUF model that sees, right and wrong. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { GgufFile } from '../../src/model/gguf/gguf-file.ts';
import {
  bool,
  float,
  float32s,
  float32Tensor,
  ggufBytes,
  int32s,
  text,
  type Tensor,
  uint,
  type Value,
} from './gguf-writer.ts';
import { temporaryDirectory } from './temporary-directory.ts';
import { mmprojOf } from './vision.ts';

const LAYER_PARTS = ['ln1', 'ln2', 'attn_q', 'attn_k', 'attn_v', 'attn_out', 'ffn_up', 'ffn_down'];
const TENSORS = [
  'mm.model.fc.weight',
  'v.position_embd.weight',
  ...['v.patch_embd', 'v.post_ln', ...[0, 1].flatMap(partsOf)].flatMap((name) => [
    `${name}.weight`,
    `${name}.bias`,
  ]),
];

function partsOf(layer: number): string[] {
  return LAYER_PARTS.map((part) => `v.blk.${layer}.${part}`);
}

/** Metadata of the tiny SmolVLM. */
export const MMPROJ_METADATA: Readonly<Record<string, Value>> = {
  'general.architecture': text('clip'),
  'general.type': text('mmproj'),
  'clip.projector_type': text('idefics3'),
  'clip.use_gelu': bool(true),
  'clip.vision.projection_dim': uint(32),
  'clip.vision.image_size': uint(32),
  'clip.vision.patch_size': uint(8),
  'clip.vision.embedding_length': uint(24),
  'clip.vision.feed_forward_length': uint(40),
  'clip.vision.block_count': uint(2),
  'clip.vision.attention.head_count': uint(2),
  'clip.vision.attention.layer_norm_epsilon': float(1e-6),
  'clip.vision.projector.scale_factor': uint(2),
  'clip.vision.preproc_image_size': uint(96),
  'clip.vision.image_mean': float32s([0.5, 0.5, 0.5]),
  'clip.vision.image_std': float32s([0.5, 0.5, 0.5]),
};

const TOWER: Readonly<Record<string, Value>> = {
  'general.architecture': text('clip'),
  'clip.vision.projection_dim': uint(32),
  'clip.vision.image_size': uint(32),
  'clip.vision.patch_size': uint(4),
  'clip.vision.embedding_length': uint(32),
  'clip.vision.feed_forward_length': uint(40),
  'clip.vision.block_count': uint(3),
  'clip.vision.attention.head_count': uint(2),
  'clip.vision.attention.layer_norm_epsilon': float(1e-6),
  'clip.vision.image_mean': float32s([0.5, 0.5, 0.5]),
  'clip.vision.image_std': float32s([0.5, 0.5, 0.5]),
};

/** Metadata of a file of each family, by its projector. */
export const MMPROJ_FAMILIES: Readonly<Record<string, Readonly<Record<string, Value>>>> = {
  idefics3: MMPROJ_METADATA,
  gemma3: {
    ...TOWER,
    'clip.projector_type': text('gemma3'),
    'clip.use_gelu': bool(true),
    'clip.vision.projector.scale_factor': uint(2),
  },
  pixtral: {
    ...TOWER,
    'clip.projector_type': text('pixtral'),
    'clip.use_silu': bool(true),
    'clip.vision.spatial_merge_size': uint(2),
  },
  qwen2vl_merger: { ...TOWER, 'clip.projector_type': text('qwen2vl_merger') },
  'qwen2.5vl_merger': {
    ...TOWER,
    'clip.projector_type': text('qwen2.5vl_merger'),
    'clip.use_silu': bool(true),
    'clip.vision.n_wa_pattern': uint(2),
    'clip.vision.window_size': uint(16),
    'clip.vision.image_min_pixels': uint(700),
    'clip.vision.image_max_pixels': uint(1200),
  },
  qwen3vl_merger: {
    ...TOWER,
    'clip.projector_type': text('qwen3vl_merger'),
    'clip.use_gelu': bool(true),
    'clip.vision.spatial_merge_size': uint(2),
    'clip.vision.is_deepstack_layers': int32s([1, 0, 1]),
  },
};

/** A text model that any of these is for; Qwen3-VL's has images at two layers. */
export const MMPROJ_FACTS = {
  imageToken: '<image>',
  imageTokenId: 4,
  textSize: 32,
  deepLayers: 0,
} as const;

/** The tensors of the tiny SmolVLM. */
export async function mmprojTensors(): Promise<Tensor[]> {
  const file = await GgufFile.open(mmprojOf('smolvlm'));
  const tensors: Tensor[] = [];
  for (const name of TENSORS) {
    const { shape = [] } = file.tensor(name) ?? {};
    tensors.push(float32Tensor(name, shape, await file.read(name)));
  }
  await file.close();
  return tensors;
}

/** Writes a file; keys with null are left out. @returns its path */
export async function mmprojWith(
  changes: Readonly<Record<string, Value | null>>,
  tensors: readonly Tensor[] = [],
): Promise<string> {
  const metadata: Record<string, Value> = {};
  for (const [key, value] of Object.entries({ ...MMPROJ_METADATA, ...changes })) {
    if (value !== null) metadata[key] = value;
  }
  const path = join(await temporaryDirectory(), 'mmproj.gguf');
  await writeFile(path, ggufBytes(metadata, tensors));
  return path;
}
