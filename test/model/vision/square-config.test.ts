import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ModelError } from '../../../src/model/model-error.ts';
import { MODEL_LIMITS } from '../../../src/model-limits.ts';
import { imageMark, shownImage } from '../../../src/model/vision/placeholder.ts';
import { isSquareConfig, parseSquareConfig } from '../../../src/model/vision/square-config.ts';
import { inspectVision } from '../../../src/model/vision/vision-folder.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Tower of gemma-3-4b-it. */
const TOWER = {
  model_type: 'siglip_vision_model',
  hidden_size: 1152,
  image_size: 896,
  intermediate_size: 4304,
  num_attention_heads: 16,
  num_hidden_layers: 27,
  patch_size: 14,
  vision_use_head: false,
};
const MODEL = {
  model_type: 'gemma3',
  boi_token_index: 255_999,
  eoi_token_index: 256_000,
  image_token_index: 262_144,
  mm_tokens_per_image: 256,
};
const IMAGES = {
  do_convert_rgb: null,
  do_normalize: true,
  do_pan_and_scan: null,
  do_rescale: true,
  do_resize: true,
  image_mean: [0.5, 0.5, 0.5],
  image_std: [0.5, 0.5, 0.5],
  resample: 2,
  rescale_factor: 1 / 255,
  size: { height: 896, width: 896 },
};

interface Given {
  readonly model?: object;
  readonly tower?: object;
  readonly images?: object;
  readonly processor?: object;
}

function filesOf({ model, tower, images, processor }: Given) {
  return {
    config: { ...MODEL, vision_config: { ...TOWER, ...tower }, ...model },
    images: { ...IMAGES, ...images },
    processor: { image_seq_length: 256, ...processor },
  };
}

function parsed(given: Given) {
  const { config, images, processor } = filesOf(given);
  const of = (json: unknown, origin: string) => ({ json, origin });
  const files = {
    config: of(config, 'config.json'),
    images: of(images, 'preprocessor_config.json'),
    processor: of(processor, 'processor_config.json'),
  };
  return parseSquareConfig(files, 2560);
}

describe('a configuration', () => {
  it('is read as published', () => {
    expect(parsed({})).toEqual({
      kind: 'square',
      shape: {
        kind: 'tiles',
        tower: {
          hiddenSize: 1152,
          intermediateSize: 4304,
          numLayers: 27,
          numHeads: 16,
          layerNormEps: 1e-6,
          activation: 'gelu_tanh',
          style: { classToken: false, inputNorm: false, patchBias: true },
          outputNorm: true,
          patchSide: 14,
          trainedPatches: 64,
        },
        tileSide: 896,
        patches: 64,
        rescale: 1 / 255,
        mean: [0.5, 0.5, 0.5],
        std: [0.5, 0.5, 0.5],
        connector: { kind: 'pool', side: 4, normEps: 1e-6 },
        textSize: 2560,
      },
      cutting: { kind: 'square', side: 896, resample: 'bilinear' },
      tokensPerTile: 256,
      seesWhole: true,
      texts: {
        mark: '<start_of_image>',
        before: '\n\n<start_of_image>',
        image: '<image_soft_token>',
        after: '<end_of_image>\n\n',
      },
      imageTokenId: 262_144,
    });
  });

  it('writes 256 tokens for an image, between marks and line breaks', () => {
    const config = parsed({});
    expect(imageMark(config)).toBe('<start_of_image>');
    const { placeholder } = shownImage({ rows: 0, columns: 0 }, config);
    const soft = '<image_soft_token>'.repeat(256);
    expect(placeholder).toBe(`\n\n<start_of_image>${soft}<end_of_image>\n\n`);
  });

  it('is that of Gemma 3 with a tower alone', () => {
    expect(isSquareConfig(MODEL)).toBe(true);
    for (const model_type of ['gemma3_text', 'gemma3n', 'idefics3', 'qwen2_vl', 3]) {
      expect(isSquareConfig({ model_type })).toBe(false);
    }
    expect(isSquareConfig(null)).toBe(false);
  });

  it.each<[string, Given, RegExp]>([
    ['crops', { images: { do_pan_and_scan: true } }, /do_pan_and_scan/],
    ['images as they are', { images: { do_resize: false } }, /do_resize/],
    ['another size', { images: { size: { height: 896, width: 448 } } }, /448 x 896 pixels/],
    ['a size by one edge', { images: { size: { longest_edge: 896 } } }, /height/],
    ['tokens that are no square', { model: { mm_tokens_per_image: 255 } }, /no 255 squares/],
    ['more tokens than patches', { model: { mm_tokens_per_image: 128 ** 2 } }, /no 16384 squares/],
    ['a pool that leaves patches out', { model: { mm_tokens_per_image: 81 } }, /no 81 squares/],
    [
      'another number of tokens',
      { processor: { image_seq_length: 64 } },
      /64, and an image has 256/,
    ],
    ['too many patches', { tower: { patch_size: 1 } }, /802816 patches/],
    ['heads that do not fit', { tower: { num_attention_heads: 7 } }, /multiple of num_attention/],
    ['no tower', { model: { vision_config: null } }, /vision_config/],
  ])('with %s is refused', (_name, given, message) => {
    expect(() => parsed(given)).toThrow(ModelError);
    expect(() => parsed(given)).toThrow(message);
  });

  it('with any other value is refused in words, or bounded', () => {
    const keys = ['mm_tokens_per_image', 'image_token_index'] as const;
    const ofTower = ['hidden_size', 'image_size', 'patch_size', 'num_hidden_layers'] as const;
    const value = fc.oneof(fc.integer(), fc.double(), fc.constant(null), fc.string(), fc.nat(2000));
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...keys), value),
        fc.dictionary(fc.constantFrom(...ofTower), value),
        fc.oneof(fc.nat(2100), value),
        (model, tower, side) => {
          const images = { size: { height: side, width: side } };
          try {
            const { shape, tokensPerTile } = parsed({ model, tower, images });
            expect(shape.patches ** 2).toBeLessThanOrEqual(MODEL_LIMITS.imagePatches);
            expect((shape.patches / shape.connector.side) ** 2).toBe(tokensPerTile);
          } catch (error) {
            if (!(error instanceof ModelError)) throw error;
          }
        },
      ),
    );
  });
});

describe('a folder', () => {
  async function folderOf(files: Readonly<Record<string, object>>): Promise<string> {
    const folder = await temporaryDirectory();
    await writeFile(join(folder, 'model.safetensors'), '');
    for (const [name, json] of Object.entries(files)) {
      await writeFile(join(folder, name), JSON.stringify(json));
    }
    return folder;
  }
  const { config, images, processor } = filesOf({});

  it('says it in either of the files', async () => {
    const older = await folderOf({
      'config.json': config,
      'preprocessor_config.json': images,
      'processor_config.json': processor,
    });
    const newer = await folderOf({
      'config.json': config,
      'processor_config.json': { ...processor, image_processor: images },
    });
    const [first, second] = [await inspectVision(older, 2560), await inspectVision(newer, 2560)];
    expect(first?.config).toEqual(parsed({}));
    expect(second?.config).toEqual(first?.config);
  });

  it('that does not say how it wants its images takes text alone', async () => {
    expect(await inspectVision(await folderOf({ 'config.json': config }), 2560)).toBeNull();
  });
});
