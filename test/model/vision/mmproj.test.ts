/** Reading of a file `mmproj-*.gguf`, right and wrong. */
import { copyFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { describe, expect, it, test } from 'vitest';

import { parseGgufHeader } from '../../../src/model/gguf/gguf-header.ts';
import { ModelError } from '../../../src/model/model-error.ts';
import { hasImageTokens, mmprojConfig } from '../../../src/model/vision/mmproj.ts';
import type { MmprojFacts } from '../../../src/model/vision/mmproj-config.ts';
import { inspectVision } from '../../../src/model/vision/vision-folder.ts';
import type { VisionPart } from '../../../src/model/vision/vision-part.ts';
import { FUZZ_RUNS, FUZZ_TIMEOUT, fuzzReader } from '../../support/fuzz-reader.ts';
import {
  bool,
  float,
  float32s,
  float32Tensor,
  ggufBytes,
  int,
  text,
  texts,
  uint,
  type Value,
} from '../../support/gguf-writer.ts';
import { MMPROJ_FACTS, MMPROJ_FAMILIES, mmprojTensors, mmprojWith } from '../../support/mmproj.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { GGUF_MODELS, inspectedVision, mmprojOf, visionGguf } from '../../support/vision.ts';

const MODEL = visionGguf('smolvlm');
const QUERY = 'model.vision_model.encoder.layers.1.self_attn.q_proj.weight';

async function inspected(mmproj: string): Promise<VisionPart> {
  const vision = await inspectVision(MODEL, 32, mmproj);
  if (vision === null) throw new Error(`${mmproj} sees nothing`);
  return vision;
}

/** A tensor's values, by its name in safetensors. */
async function valuesOf({ open }: VisionPart, name: string, shape: readonly number[]) {
  const weights = await open();
  try {
    return await weights.get(name, shape);
  } finally {
    await weights.close();
  }
}

/** With numbers as float32 has them. */
function near<T>(value: T): T {
  const written = JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'number' ? Math.fround(each) : each,
  );
  return JSON.parse(written) as T;
}

describe.each(GGUF_MODELS)('%s', (name, kind) => {
  it('says what its folder of safetensors says', async () => {
    const { config } = await inspectedVision(name, kind);
    const vision = await inspectedVision(name, kind, visionGguf(name));
    expect(vision).toMatchObject({
      path: visionGguf(name),
      mmproj: mmprojOf(name),
      files: [mmprojOf(name)],
    });
    expect(near(vision.config)).toEqual(near(config));
    expect(vision.config.shape.textSize).toBe(32);
  });
});

test('a file that does not say how large images are has those of published models', async () => {
  const { config } = await inspected(await mmprojWith({ 'clip.vision.preproc_image_size': null }));
  expect(config).toMatchObject({ cutting: { longestEdge: 128, tileSide: 32 } });
});

test('feed-forward layers that are named the other way round are found', async () => {
  const tensors = await mmprojTensors();
  const other = { ffn_up: 'ffn_down', ffn_down: 'ffn_up' };
  const renamed = tensors.map((tensor) => ({
    ...tensor,
    name: tensor.name.replace(/ffn_up|ffn_down/, (found) => other[found as keyof typeof other]),
  }));
  const [right, reversed] = [await mmprojWith({}, tensors), await mmprojWith({}, renamed)];
  for (const [part, shape] of [
    ['fc1.weight', [40, 24]],
    ['fc1.bias', [40]],
    ['fc2.weight', [24, 40]],
    ['fc2.bias', [24]],
  ] as const) {
    const name = `model.vision_model.encoder.layers.1.mlp.${part}`;
    const expected = await valuesOf(await inspected(right), name, shape);
    expect(await valuesOf(await inspected(reversed), name, shape)).toEqual(expected);
  }
});

describe('a file is refused', () => {
  it.each<[string, Record<string, Value | null>, RegExp]>([
    [
      'of another family',
      { 'clip.projector_type': text('mlp') },
      /projector "mlp"; .*idefics3, qwen2vl_merger, .*, pixtral/,
    ],
    [
      'with a word that all objects have',
      { 'clip.projector_type': text('constructor') },
      /"constructor"/,
    ],
    ['without a family', { 'clip.projector_type': null }, /projector ""/],
    [
      'whose family is a number',
      { 'clip.projector_type': uint(3) },
      /"clip.projector_type" is not a text/,
    ],
    [
      'for another text model',
      { 'clip.vision.projection_dim': uint(64) },
      /text model of width 64, and this one has 32/,
    ],
    ...[
      'projection_dim',
      'image_size',
      'patch_size',
      'embedding_length',
      'feed_forward_length',
      'block_count',
      'attention.head_count',
      'attention.layer_norm_epsilon',
      'projector.scale_factor',
      'image_mean',
      'image_std',
    ].flatMap((name): [string, Record<string, Value | null>, RegExp][] => [
      [`without ${name}`, { [`clip.vision.${name}`]: null }, /has no metadata "clip\.vision\./],
      [
        `with a text for ${name}`,
        { [`clip.vision.${name}`]: text('8') },
        /is not a (list of )?number/,
      ],
    ]),
    ['with layers of half', { 'clip.vision.block_count': float(1.5) }, /num_hidden_layers/],
    ['with no layers', { 'clip.vision.block_count': uint(0) }, /num_hidden_layers/],
    ['with a billion layers', { 'clip.vision.block_count': uint(1e9) }, /num_hidden_layers/],
    ['with a huge width', { 'clip.vision.embedding_length': uint(2 ** 31) }, /hidden_size/],
    ['with huge tiles', { 'clip.vision.image_size': uint(2 ** 31) }, /image_size/],
    ['with negative patches', { 'clip.vision.patch_size': int(-8) }, /patch_size/],
    [
      'with patches of a pixel',
      { 'clip.vision.image_size': uint(256), 'clip.vision.patch_size': uint(1) },
      /patches/,
    ],
    ['with thousands of tiles', { 'clip.vision.preproc_image_size': uint(1e6) }, /tiles/],
    [
      'with a shuffle that does not fit',
      { 'clip.vision.projector.scale_factor': uint(3) },
      /scale_factor 3/,
    ],
    ['with a mean of two', { 'clip.vision.image_mean': float32s([0.5, 0.5]) }, /image_mean/],
    ['with a deviation of 0', { 'clip.vision.image_std': float32s([0.5, 0, 0.5]) }, /image_std/],
    ['with a mean that is NaN', { 'clip.vision.image_mean': float32s([NaN, 0, 0]) }, /image_mean/],
    [
      'with an epsilon of infinity',
      { 'clip.vision.attention.layer_norm_epsilon': float(Infinity) },
      /layer_norm_eps/,
    ],
    ['with another activation', { 'clip.use_gelu': bool(false) }, /hidden_act/],
    [
      'whose activation is a text',
      { 'clip.use_gelu': text('yes') },
      /"clip.use_gelu" is not true or false/,
    ],
  ])('%s', async (_what, changes, message) => {
    const path = await mmprojWith(changes);
    const refused = inspected(path);
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.toThrow(ModelError);
    await expect(refused).rejects.toThrow(path);
  });

  it('that is missing, cut off or none', async () => {
    const folder = await temporaryDirectory();
    const path = join(folder, 'mmproj.gguf');
    await expect(inspected(path)).rejects.toThrow(`${path} cannot be opened`);
    await copyFile(mmprojOf('smolvlm'), path);
    await truncate(path, 3000);
    await expect(inspected(path)).rejects.toThrow(path);
    await writeFile(path, 'not a model');
    await expect(inspected(path)).rejects.toThrow(ModelError);
  });

  it('without a tensor, with one of another shape, or with values that are none', async () => {
    const tensors = await mmprojTensors();
    const name = 'v.blk.1.attn_q.weight';
    const withQuery = (shape: readonly number[], values: Float32Array) =>
      mmprojWith({}, [
        ...tensors.filter((tensor) => tensor.name !== name),
        float32Tensor(name, shape, values),
      ]);
    const queryOf = async (path: string) => valuesOf(await inspected(path), QUERY, [24, 24]);
    const without = await mmprojWith(
      {},
      tensors.filter((tensor) => tensor.name !== name),
    );
    await expect(queryOf(without)).rejects.toThrow(`has no tensor "${name}"`);
    const wide = await withQuery([24, 25], new Float32Array(600));
    await expect(queryOf(wide)).rejects.toThrow(`"${name}" has shape [24, 25], expected [24, 24]`);
    const nan = await withQuery([24, 24], new Float32Array(576).fill(NaN));
    await expect(queryOf(nan)).rejects.toThrow(`tensor "${name}" has a value of NaN`);
  });
});

describe('a model is served as a text model', () => {
  /** A folder with the text model and a file beside it. */
  async function beside(mmproj: string, model = MODEL): Promise<string> {
    const folder = await temporaryDirectory();
    await copyFile(mmproj, join(folder, 'mmproj-F16.gguf'));
    await copyFile(model, join(folder, 'model.gguf'));
    return join(folder, 'model.gguf');
  }

  it('beside a file of another family', async () => {
    const other = await mmprojWith({ 'clip.projector_type': text('mlp') });
    expect(await inspectVision(await beside(other), 32)).toBeNull();
    expect(await inspectVision(await beside(mmprojOf('qwen2-vl')), 32)).toBeNull();
    expect(await inspectVision(await beside(mmprojOf('smolvlm')), 32)).not.toBeNull();
  });

  it('if its vocabulary has no places for images', async () => {
    const model = join(await temporaryDirectory(), 'text.gguf');
    for (const token of ['<image>', '<fake_token_around_image>']) {
      await writeFile(model, ggufBytes({ 'tokenizer.ggml.tokens': texts(['a', token]) }));
      expect(await hasImageTokens(model)).toBe(false);
    }
    expect(await hasImageTokens(MODEL)).toBe(true);
    const mmproj = mmprojOf('smolvlm');
    expect(await inspectVision(await beside(mmproj, model), 32)).toBeNull();
    await expect(inspectVision(model, 32, mmproj)).rejects.toThrow('has no tokens that stand for');
  });
});

function configOf(bytes: Buffer, facts: Partial<MmprojFacts> = {}) {
  const { metadata, tensors } = parseGgufHeader(bytes, bytes.length, 'x.gguf');
  const shapeOf = (name: string) => tensors.get(name)?.shape;
  return mmprojConfig({ metadata, origin: 'x.gguf', shapeOf, ...MMPROJ_FACTS, ...facts }).config;
}

function familyWith(projector: string, changes: Readonly<Record<string, Value>>) {
  return ggufBytes({ ...MMPROJ_FAMILIES[projector], ...changes });
}

describe('what files do not say is as in published models', () => {
  it('the size of images of Qwen-VL, and its windows', () => {
    const pixels = { minPixels: 3136, maxPixels: 2 ** 18 };
    expect(configOf(familyWith('qwen2vl_merger', {})).cutting).toMatchObject(pixels);
    const qwen3 = configOf(familyWith('qwen3vl_merger', {}), { deepLayers: 2 });
    expect(qwen3.cutting).toMatchObject({ minPixels: 65_536, maxPixels: 2 ** 18 });
    expect(qwen3.shape.tower).toMatchObject({ tableSide: 8, deepLayers: [0, 2] });
    const { 'clip.vision.window_size': _, ...without } = MMPROJ_FAMILIES['qwen2.5vl_merger'] ?? {};
    const { shape } = configOf(ggufBytes(without));
    expect(shape.tower).toMatchObject({ windows: { cells: 14, exceptLayers: [1] } });
  });

  it('which token stands for an image of Gemma 3, where its vocabulary ends before it', async () => {
    const folder = await temporaryDirectory();
    const [model, mmproj] = [join(folder, 'model.gguf'), mmprojOf('gemma3')];
    const around = ['<start_of_image>', '<end_of_image>'];
    const tokenOf = async (tokens: readonly string[], architecture = 'gemma3') => {
      const vocabulary = texts(['a', ...tokens]);
      const metadata = { 'general.architecture': text(architecture) };
      await writeFile(model, ggufBytes({ ...metadata, 'tokenizer.ggml.tokens': vocabulary }));
      const vision = await inspectVision(model, 32, mmproj);
      if (vision?.config.kind !== 'square') throw new Error('no squares');
      return [vision.config.imageTokenId, vision.config.texts.image];
    };
    expect(await tokenOf([...around, '<pad>', '<image_soft_token>'])).toEqual([
      4,
      '<image_soft_token>',
    ]);
    expect(await tokenOf([...around, '<pad>'])).toEqual([3, '<pad>']);
    for (const tokens of [around, ['<pad>', '<start_of_image>']]) {
      await expect(tokenOf(tokens)).rejects.toThrow('has no tokens that stand for');
    }
    await expect(tokenOf([...around, '<pad>'], 'gemma2')).rejects.toThrow('has no tokens');
  });
});

it.each<[string, string, Record<string, Value>, Partial<MmprojFacts>, RegExp]>([
  ['for another text model', 'pixtral', {}, { textSize: 48 }, /width 32, and this one has 48/],
  ['with images at more layers', 'qwen3vl_merger', {}, { deepLayers: 1 }, /for 2 layers .* at 1$/],
  ['with images at more layers', 'qwen2vl_merger', {}, { deepLayers: 2 }, /for 0 layers .* at 2$/],
  [
    'with a table that is no square',
    'qwen3vl_merger',
    { 'clip.vision.image_size': uint(33) },
    {},
    /num_position_embeddings/,
  ],
  [
    'with a billion layers',
    'qwen2.5vl_merger',
    { 'clip.vision.block_count': uint(1e9) },
    {},
    /vision_config\.depth/,
  ],
  [
    'with patches of a pixel that images have too many of',
    'qwen2vl_merger',
    { 'clip.vision.image_min_pixels': uint(1e9) },
    {},
    /1000000000 to /,
  ],
  [
    'with no patches for a token',
    'gemma3',
    { 'clip.vision.projector.scale_factor': uint(0) },
    {},
    /mm_tokens_per_image/,
  ],
  [
    'with cells of no patches',
    'pixtral',
    { 'clip.vision.spatial_merge_size': uint(0) },
    {},
    /spatial_merge_size/,
  ],
])('a file is refused %s: %s', (_what, projector, changes, facts, message) => {
  const reading = () => configOf(familyWith(projector, changes), facts);
  expect(reading).toThrow(ModelError);
  expect(reading).toThrow(message);
});

test.each(Object.entries(MMPROJ_FAMILIES))(
  `${FUZZ_RUNS} changed files of %s give a configuration or a ModelError`,
  (projector, family) => {
    const facts = { deepLayers: projector === 'qwen3vl_merger' ? 2 : 0 };
    const { read, refused } = fuzzReader(ggufBytes(family), (bytes) => {
      try {
        configOf(bytes, facts);
        return 'read';
      } catch (error) {
        if (error instanceof ModelError && error.message.startsWith('x.gguf')) return 'refused';
        throw error;
      }
    });
    expect(read).toBeGreaterThan(FUZZ_RUNS / 100);
    expect(refused).toBeGreaterThan(FUZZ_RUNS / 10);
  },
  FUZZ_TIMEOUT,
);
