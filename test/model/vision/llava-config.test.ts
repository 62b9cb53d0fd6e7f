import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ModelError } from '../../../src/model/model-error.ts';
import { MODEL_LIMITS } from '../../../src/model-limits.ts';
import { parseDecoderConfig } from '../../../src/model/huggingface/config.ts';
import { isLlavaConfig, parseLlavaConfig } from '../../../src/model/vision/llava-config.ts';
import { imageMark, shownImage } from '../../../src/model/vision/placeholder.ts';

/** Configuration of llava-1.5-7b-hf, as published. */
const TOWER = {
  model_type: 'clip_vision_model',
  hidden_size: 1024,
  image_size: 336,
  intermediate_size: 4096,
  num_attention_heads: 16,
  num_hidden_layers: 24,
  patch_size: 14,
  projection_dim: 768,
  vocab_size: 32_000,
};
const TEXT = {
  architectures: ['LlamaForCausalLM'],
  max_position_embeddings: 4096,
  model_type: 'llama',
  rms_norm_eps: 1e-5,
  vocab_size: 32_064,
};
const MODEL = {
  architectures: ['LlavaForConditionalGeneration'],
  ignore_index: -100,
  image_token_index: 32_000,
  model_type: 'llava',
  pad_token_id: 32_001,
  projector_hidden_act: 'gelu',
  tie_word_embeddings: false,
  vision_feature_layer: -2,
  vision_feature_select_strategy: 'default',
};
const IMAGES = {
  crop_size: { height: 336, width: 336 },
  do_center_crop: true,
  do_convert_rgb: true,
  do_normalize: true,
  do_rescale: true,
  do_resize: true,
  image_mean: [0.481_454_66, 0.457_827_5, 0.408_210_73],
  image_std: [0.268_629_54, 0.261_302_58, 0.275_777_11],
  resample: 3,
  rescale_factor: 1 / 255,
  size: { shortest_edge: 336 },
};
const SIGLIP = {
  tower: {
    model_type: 'siglip_vision_model',
    hidden_size: 1152,
    image_size: 384,
    num_attention_heads: 16,
    num_hidden_layers: 26,
    patch_size: 14,
  },
  model: { vision_feature_layer: -1, vision_feature_select_strategy: 'full' },
  images: { size: { height: 384, width: 384 }, do_center_crop: null, crop_size: null },
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
    processor: of({ image_token: '<image>', ...processor }, 'processor_config.json'),
  };
  return parseLlavaConfig(files, 4096);
}

describe('a configuration', () => {
  it('is read as published', () => {
    expect(parsed({})).toEqual({
      kind: 'square',
      shape: {
        kind: 'tiles',
        tower: {
          hiddenSize: 1024,
          intermediateSize: 4096,
          numLayers: 23,
          numHeads: 16,
          layerNormEps: 1e-5,
          activation: 'quick_gelu',
          style: { classToken: true, inputNorm: true, patchBias: false },
          outputNorm: false,
          patchSide: 14,
          trainedPatches: 24,
        },
        tileSide: 336,
        patches: 24,
        rescale: 1 / 255,
        mean: IMAGES.image_mean,
        std: IMAGES.image_std,
        connector: { kind: 'mlp', side: 1, activation: 'gelu', bias: true },
        textSize: 4096,
      },
      cutting: { kind: 'crop', shortestEdge: 336, side: 336, resample: 'bicubic' },
      tokensPerTile: 576,
      seesWhole: false,
      texts: { mark: '<image>', before: '', image: '<image>', after: '' },
      imageTokenId: 32_000,
    });
  });

  it('writes 576 marks for each', () => {
    const config = parsed({});
    expect(imageMark(config)).toBe('<image>');
    const { placeholder } = shownImage({ rows: 0, columns: 0 }, config);
    expect(placeholder).toBe('<image>'.repeat(576));
  });

  it('may have a tower of SigLIP, and older names', () => {
    const { shape, cutting, tokensPerTile } = parsed(SIGLIP);
    expect(shape.tower).toMatchObject({ numLayers: 26, outputNorm: false, trainedPatches: 27 });
    expect(cutting).toEqual({ kind: 'square', side: 384, resample: 'bicubic' });
    expect(tokensPerTile).toBe(729);
    const { cutting: older } = parsed({ images: { crop_size: 336 } });
    expect(older).toEqual(parsed({}).cutting);
  });

  it('leaves its text model to Llama', () => {
    const json = { ...MODEL, text_config: TEXT, vision_config: TOWER };
    expect(parseDecoderConfig(json, 'config.json')).toMatchObject({
      family: { modelType: 'llama' },
      vocabSize: 32_064,
      hiddenSize: 4096,
      intermediateSizes: Array.from({ length: 32 }, () => 11_008),
      numHeads: 32,
      numKvHeads: 32,
      maxPositionEmbeddings: 4096,
      tieWordEmbeddings: false,
    });
  });

  it('is that of LLaVA with such a tower', () => {
    expect(isLlavaConfig({ ...MODEL, vision_config: TOWER })).toBe(true);
    expect(isLlavaConfig({ ...MODEL, vision_config: { model_type: 'pixtral' } })).toBe(false);
    for (const config of [MODEL, { model_type: 'llava_next', vision_config: TOWER }, null, 3]) {
      expect(isLlavaConfig(config)).toBe(false);
    }
  });

  it.each<[string, Given, RegExp]>([
    ['images as they are', { images: { do_resize: false } }, /do_resize/],
    ['padding', { images: { do_pad: true } }, /do_pad/],
    ['another size', { images: { crop_size: 224 } }, /224 pixels, and the model sees 336/],
    ['no crop', { images: { do_center_crop: false } }, /need a crop_size/],
    [
      'a crop that is no square',
      { images: { crop_size: { height: 336, width: 3 } } },
      /need a crop/,
    ],
    ['a crop larger than images', { images: { size: { shortest_edge: 300 } } }, /at most as much/],
    [
      'a size that is no square',
      { images: { size: { height: 3, width: 4 } } },
      /no squares of 4 x 3/,
    ],
    [
      'the class token',
      { model: { vision_feature_select_strategy: 'full' } },
      /"full" is not supp/,
    ],
    ['SigLIP without its first patch', { ...SIGLIP, model: {} }, /"default" is not supported/],
    ['several layers', { model: { vision_feature_layer: [-2, -5] } }, /vision_feature_layer/],
    ['a layer from the first', { model: { vision_feature_layer: 3 } }, /vision_feature_layer/],
    ['a layer before the first', { model: { vision_feature_layer: -25 } }, /no layer -25/],
    ['too many patches', { tower: { patch_size: 1 } }, /112896 patches/],
    ['heads that do not fit', { tower: { num_attention_heads: 7 } }, /multiple of num_attention/],
    ['another tower', { tower: { model_type: 'vit' } }, /vision_config/],
  ])('with %s is refused', (_name, given, message) => {
    expect(() => parsed(given)).toThrow(ModelError);
    expect(() => parsed(given)).toThrow(message);
  });

  it('with any other value is refused in words, or bounded', () => {
    const ofTower = ['hidden_size', 'image_size', 'patch_size', 'num_hidden_layers'] as const;
    const value = fc.oneof(fc.integer(), fc.double(), fc.constant(null), fc.string(), fc.nat(2000));
    fc.assert(
      fc.property(
        fc.record({ vision_feature_layer: value, image_token_index: value }, { requiredKeys: [] }),
        fc.dictionary(fc.constantFrom(...ofTower), value),
        fc.oneof(fc.nat(2100), value),
        (model, tower, side) => {
          const images = { size: { shortest_edge: side }, crop_size: side };
          try {
            const { shape, tokensPerTile } = parsed({ model, tower, images });
            expect(tokensPerTile).toBeLessThanOrEqual(MODEL_LIMITS.imagePatches);
            expect(shape.tower.numLayers).toBeGreaterThan(0);
          } catch (error) {
            if (!(error instanceof ModelError)) throw error;
          }
        },
      ),
    );
  });
});
