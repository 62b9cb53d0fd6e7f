import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ImageError } from '../../../src/images/image-error.ts';
import { cellGrid } from '../../../src/images/patches.ts';
import { MODEL_LIMITS } from '../../../src/model-limits.ts';
import { ModelError } from '../../../src/model/model-error.ts';
import { parseGridConfig } from '../../../src/model/vision/grid-config.ts';
import { imageMark, shownImage } from '../../../src/model/vision/placeholder.ts';
import { embeddingWidth } from '../../../src/model/vision/tower-size.ts';
import { inspectedVision, visionFolder } from '../../support/vision.ts';

interface Fields {
  readonly model?: object;
  readonly tower?: object;
  readonly images?: object;
}

/** The fields of published models that they leave to be guessed from nothing else. */
function parsed({ model, tower, images }: Fields = {}) {
  const config = { model_type: 'qwen2_5_vl', ...model, vision_config: { ...tower } };
  const files = { config, images: { ...images }, processor: {} };
  const of = (name: keyof typeof files) => ({ json: files[name], origin: name });
  return parseGridConfig(
    { config: of('config'), images: of('images'), processor: of('processor') },
    2048,
  );
}

describe('a published model', () => {
  it('of Qwen2.5-VL is read as Qwen2.5-VL-3B-Instruct has it', () => {
    const tower = {
      depth: 32,
      hidden_act: 'silu',
      hidden_size: 1280,
      intermediate_size: 3420,
      num_heads: 16,
      in_chans: 3,
      out_hidden_size: 2048,
      patch_size: 14,
      spatial_merge_size: 2,
      spatial_patch_size: 14,
      window_size: 112,
      fullatt_block_indexes: [7, 15, 23, 31],
      tokens_per_second: 2,
      temporal_patch_size: 2,
    };
    const images = {
      min_pixels: 3136,
      max_pixels: 12_845_056,
      patch_size: 14,
      temporal_patch_size: 2,
      merge_size: 2,
      image_mean: [0.48, 0.45, 0.4],
      image_std: [0.26, 0.26, 0.27],
    };
    const vision = parsed({ model: { image_token_id: 151_655 }, tower, images });
    expect(vision).toMatchObject({
      shape: {
        tower: {
          hiddenSize: 1280,
          numLayers: 32,
          norms: 'rms',
          tensors: { first: ['gate_proj', 'up_proj'] },
          windows: { cells: 4, exceptLayers: [7, 15, 23, 31] },
        },
        merge: 2,
        textSize: 2048,
        rescale: 1 / 255,
        mean: [0.48, 0.45, 0.4],
      },
      // As many as may be seen of an image.
      cutting: {
        minPixels: 3136,
        maxPixels: MODEL_LIMITS.imagePatches * 14 ** 2,
        resample: 'bicubic',
      },
      imageTokenId: 151_655,
    });
    expect(vision).toEqual(parsed({ images }));
  });

  it('of Qwen2-VL has layer normalization, no gates and no windows', () => {
    const tower = { embed_dim: 1280, mlp_ratio: 4, hidden_size: 1536 };
    const { shape, cutting } = parsed({ model: { model_type: 'qwen2_vl' }, tower });
    expect(shape.tower).toMatchObject({
      hiddenSize: 1280,
      intermediateSize: 5120,
      norms: 'layer',
      tensors: { first: ['fc1'] },
      windows: null,
      activation: 'quick_gelu',
    });
    expect(cutting).toMatchObject({ minPixels: 3136, maxPixels: 1_003_520 });
  });

  it('of Qwen3-VL has a table of positions, and layers that the text model gets too', () => {
    const tower = { patch_size: 16, hidden_act: 'gelu_pytorch_tanh' };
    const size = { shortest_edge: 65_536, longest_edge: 16_777_216 };
    const { shape, cutting } = parsed({
      model: { model_type: 'qwen3_vl' },
      tower,
      images: { size, patch_size: 16 },
    });
    expect(shape.tower).toMatchObject({
      hiddenSize: 1152,
      activation: 'gelu_tanh',
      norms: 'layer',
      tableSide: 48,
      deepLayers: [8, 16, 24],
      windows: null,
    });
    expect(cutting).toMatchObject({
      minPixels: 65_536,
      maxPixels: MODEL_LIMITS.imagePatches * 16 ** 2,
    });
    expect(embeddingWidth(shape)).toBe(4 * 2048);
  });
});

it.each<[string, Fields, RegExp]>([
  ['heads that part no channels', { tower: { num_heads: 7 } }, /7 heads of 1280/],
  ['heads of 4 channels', { tower: { hidden_size: 64 } }, /16 heads of 64/],
  [
    'patches of another size than the processor’s',
    { tower: { patch_size: 16 } },
    /patches of other sizes/,
  ],
  ['other cells than the processor’s', { images: { merge_size: 4 } }, /patches of other sizes/],
  ['windows without a cell', { tower: { window_size: 27 } }, /windows of 27 pixels have no cell/],
  [
    'a table of positions that is no square',
    { model: { model_type: 'qwen3_vl' }, tower: { num_position_embeddings: 17 } },
    /no square/,
  ],
  ...[[27], [1, 0], [1, 1], Array.from({ length: 17 }, (_, layer) => layer)].map(
    (layers): [string, Fields, RegExp] => [
      `${layers.length} layers ${layers.slice(0, 2).join()} that are not the tower's in order`,
      { model: { model_type: 'qwen3_vl' }, tower: { deepstack_visual_indexes: layers } },
      /deepstack_visual_indexes/,
    ],
  ),
  ['another activation', { tower: { hidden_act: 'tanh' } }, /hidden_act/],
  ['more layers than there are', { tower: { depth: 1e9 } }, /depth/],
  ['gray images', { tower: { in_channels: 1 } }, /in_channels/],
  [
    'images of fewer pixels than at least',
    { images: { min_pixels: 10_000, max_pixels: 5000 } },
    /10000 to 5000/,
  ],
  [
    'images of less than a cell',
    { images: { size: { shortest_edge: 1, longest_edge: 783 } } },
    /1 to 783/,
  ],
  [
    'images of very many pixels at least',
    { images: { min_pixels: 1e9, max_pixels: 1e9 } },
    /1000000000/,
  ],
  ['images as they are', { images: { do_resize: false } }, /do_resize/],
  ['a deviation of 0', { images: { image_std: [1, 0, 1] } }, /above 0/],
])('%s is refused', (_, fields, message) => {
  expect(() => parsed(fields)).toThrow(ModelError);
  expect(() => parsed(fields)).toThrow(message);
});

/** @returns 1 where it is refused by name */
function attempt(seen: () => number): number {
  try {
    return seen();
  } catch (error) {
    if (error instanceof ModelError || error instanceof ImageError) return 1;
    throw error;
  }
}

it('whatever a folder says, an image has few enough patches', () => {
  const number = fc.oneof(fc.integer({ min: -1, max: 70 }), fc.integer({ min: 1, max: 1e9 }));
  const read = fc.record(
    { patch_size: number, merge_size: number, min_pixels: number, max_pixels: number },
    { requiredKeys: [] },
  );
  const side = fc.integer({ min: 1, max: 65_535 });
  fc.assert(
    fc.property(read, side, side, (images, width, height) => {
      const { patch_size, merge_size: spatial_merge_size } = images;
      const tower = { patch_size, spatial_merge_size, window_size: 2048 };
      const seen = () => {
        const { cutting } = parsed({ images, tower });
        const { rows, columns } = cellGrid({ width, height }, cutting);
        return rows * columns * cutting.merge ** 2;
      };
      const patches = attempt(seen);
      expect(patches).toBeGreaterThan(0);
      expect(patches).toBeLessThanOrEqual(MODEL_LIMITS.imagePatches);
    }),
    { numRuns: 500 },
  );
});

it('shows an image as a token for each cell', async () => {
  const { config } = await inspectedVision('qwen2.5-vl', 'grid');
  const template = await readFile(join(visionFolder('qwen2.5-vl'), 'chat_template.jinja'), 'utf8');
  const mark = imageMark(config);
  expect(template).toContain(`<|vision_start|>${mark}<|vision_end|>`);
  expect(shownImage({ rows: 2, columns: 3 }, config)).toEqual({
    placeholder: mark.repeat(6),
    tokensPerTile: 6,
    grid: { height: 2, width: 3 },
  });
});
