import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ImageError } from '../../../src/images/image-error.ts';
import { lineGrid } from '../../../src/images/lines.ts';
import { parseDecoderConfig } from '../../../src/model/huggingface/config.ts';
import { ModelError } from '../../../src/model/model-error.ts';
import { MODEL_LIMITS } from '../../../src/model-limits.ts';
import { isLineConfig, parseLineConfig } from '../../../src/model/vision/line-config.ts';
import { imageMark, shownImage } from '../../../src/model/vision/placeholder.ts';

/** Tower of Mistral-Small-3.1-24B-Instruct-2503. */
const TOWER = {
  attention_dropout: 0,
  head_dim: 64,
  hidden_act: 'silu',
  hidden_size: 1024,
  image_size: 1540,
  intermediate_size: 4096,
  model_type: 'pixtral',
  num_attention_heads: 16,
  num_channels: 3,
  num_hidden_layers: 24,
  patch_size: 14,
  rope_theta: 10_000,
};
const MODEL = {
  architectures: ['Mistral3ForConditionalGeneration'],
  image_token_index: 10,
  model_type: 'mistral3',
  multimodal_projector_bias: false,
  projector_hidden_act: 'gelu',
  spatial_merge_size: 2,
  text_config: { model_type: 'mistral', hidden_size: 5120, rms_norm_eps: 1e-5 },
  vision_feature_layer: -1,
};
const IMAGES = {
  do_convert_rgb: true,
  do_normalize: true,
  do_rescale: true,
  do_resize: true,
  image_mean: [0.481_454_66, 0.457_827_5, 0.408_210_73],
  image_std: [0.268_629_54, 0.261_302_58, 0.275_777_11],
  patch_size: { height: 14, width: 14 },
  resample: 3,
  rescale_factor: 1 / 255,
  size: { longest_edge: 1540 },
};
const PROCESSOR = {
  image_break_token: '[IMG_BREAK]',
  image_end_token: '[IMG_END]',
  image_token: '[IMG]',
  patch_size: 14,
  spatial_merge_size: 2,
};
/** Configuration of mistral-community/pixtral-12b. */
const PIXTRAL_12B = {
  model: {
    model_type: 'llava',
    spatial_merge_size: undefined,
    multimodal_projector_bias: true,
    vision_feature_select_strategy: 'full',
  },
  tower: { image_size: 1024, patch_size: 16 },
  images: { size: { longest_edge: 1024 }, patch_size: { height: 16, width: 16 } },
  processor: { patch_size: 16, spatial_merge_size: null },
};

interface Given {
  readonly model?: object;
  readonly tower?: object;
  readonly images?: object;
  readonly processor?: object;
}

function parsed({ model, tower, images, processor }: Given) {
  const of = (json: unknown, origin: string) => ({ json, origin });
  const files = {
    config: of({ ...MODEL, vision_config: { ...TOWER, ...tower }, ...model }, 'config.json'),
    images: of({ ...IMAGES, ...images }, 'preprocessor_config.json'),
    processor: of({ ...PROCESSOR, ...processor }, 'processor_config.json'),
  };
  return parseLineConfig(files, 5120);
}

describe('a configuration', () => {
  it('of Mistral Small 3.1 is read as published', () => {
    expect(parsed({})).toEqual({
      kind: 'lines',
      shape: {
        kind: 'grid',
        tower: {
          hiddenSize: 1024,
          intermediateSize: 4096,
          numLayers: 24,
          numHeads: 16,
          activation: 'silu',
          norms: 'rms',
          normEps: 1e-5,
          inputNorm: true,
          bias: false,
          tensors: {
            attention: ['q_proj', 'k_proj', 'v_proj'],
            first: ['gate_proj', 'up_proj'],
            down: 'down_proj',
          },
          ropeTheta: 10_000,
          rotation: 'in turns',
          patchSide: 14,
          frames: 1,
          windows: null,
          tableSide: null,
          deepLayers: [],
        },
        merge: 2,
        connector: { kind: 'projector', mergerEps: 1e-5, activation: 'gelu', bias: false },
        rescale: 1 / 255,
        mean: IMAGES.image_mean,
        std: IMAGES.image_std,
        textSize: 5120,
      },
      cutting: {
        kind: 'lines',
        patchSide: 14,
        merge: 2,
        longestEdge: 1540,
        maxCells: MODEL_LIMITS.imagePatches / 4,
        resample: 'bicubic',
      },
      texts: { image: '[IMG]', lineEnd: '[IMG_BREAK]', end: '[IMG_END]' },
      imageTokenId: 10,
    });
  });

  it('of Pixtral in the form of LLaVA merges nothing', () => {
    const { shape, cutting } = parsed(PIXTRAL_12B);
    const connector = { kind: 'projector', mergerEps: null, activation: 'gelu', bias: true };
    expect(shape).toMatchObject({ merge: 1, connector });
    expect(cutting).toMatchObject({ patchSide: 16, merge: 1, longestEdge: 1024 });
  });

  it('leaves heads of the text model to Mistral, as Pixtral 12B does', () => {
    const text = { model_type: 'mistral', hidden_size: 5120, head_dim: 128, vocab_size: 131_072 };
    const json = { ...PIXTRAL_12B.model, text_config: text, vision_config: TOWER };
    expect(parseDecoderConfig(json, 'config.json')).toMatchObject({
      family: { modelType: 'mistral' },
      numHeads: 32,
      numKvHeads: 8,
      headDim: 128,
    });
  });

  it('writes a token after each line of an image', () => {
    const config = parsed({});
    expect(imageMark(config)).toBe('[IMG]');
    expect(shownImage({ rows: 2, columns: 3 }, config)).toEqual({
      placeholder: '[IMG][IMG][IMG][IMG_BREAK][IMG][IMG][IMG][IMG_END]',
      tokensPerTile: 6,
      tokensPerLine: 3,
    });
  });

  it('is that of a model with such a tower', () => {
    expect(isLineConfig({ ...MODEL, vision_config: TOWER })).toBe(true);
    expect(isLineConfig({ model_type: 'llava', vision_config: TOWER })).toBe(true);
    const clip = { model_type: 'clip_vision_model' };
    for (const config of [MODEL, { model_type: 'llava', vision_config: clip }, null, 3]) {
      expect(isLineConfig(config)).toBe(false);
    }
  });

  it.each<[string, Given, RegExp]>([
    ['images as they are', { images: { do_resize: false } }, /do_resize/],
    ['crops', { images: { do_center_crop: true } }, /do_center_crop/],
    ['a longer edge than may be', { images: { size: { longest_edge: 4096 } } }, /longest_edge/],
    ['other patches', { processor: { patch_size: 16 } }, /other sizes \(16, 2\)/],
    ['other cells', { processor: { spatial_merge_size: 1 } }, /other sizes \(14, 1\)/],
    [
      'cells of too many patches',
      { model: { spatial_merge_size: 200 }, processor: { spatial_merge_size: null } },
      /40000 patches/,
    ],
    ['several layers', { model: { vision_feature_layer: [-1, -2] } }, /vision_feature_layer/],
    ['a layer before the first', { model: { vision_feature_layer: -25 } }, /no layer -25/],
    ['heads that part no channels', { tower: { num_attention_heads: 7 } }, /7 heads of 1024/],
    ['heads of 4 channels', { tower: { num_attention_heads: 256 } }, /256 heads of 1024/],
    ['the first patch left out', { model: { model_type: 'llava' } }, /select_strategy/],
  ])('with %s is refused', (_name, given, message) => {
    expect(() => parsed(given)).toThrow(ModelError);
    expect(() => parsed(given)).toThrow(message);
  });

  it('with any other value is refused in words, or bounded', () => {
    const ofTower = ['hidden_size', 'num_attention_heads', 'num_hidden_layers'] as const;
    const value = fc.oneof(fc.integer(), fc.double(), fc.constant(null), fc.string(), fc.nat(2000));
    const side = fc.integer({ min: 1, max: 65_535 });
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom(...ofTower), value),
        fc.oneof(fc.nat(40), value),
        fc.oneof(fc.nat(2100), value),
        side,
        side,
        (tower, patch, longest, width, height) => {
          const images = { size: { longest_edge: longest } };
          const processor = { patch_size: null };
          try {
            const found = parsed({ tower: { ...tower, patch_size: patch }, images, processor });
            const { rows, columns } = lineGrid({ width, height }, found.cutting);
            expect(rows * columns * 4).toBeLessThanOrEqual(MODEL_LIMITS.imagePatches);
            expect(rows * columns).toBeGreaterThan(0);
          } catch (error) {
            if (!(error instanceof ModelError || error instanceof ImageError)) throw error;
          }
        },
      ),
    );
  });
});
