import { describe, expect, it } from 'vitest';
import { type DualConfig, parseDualConfig } from '../../../src/model/dual/dual-config.ts';
import { textEndOf, textPartOf } from '../../../src/model/encoder/text-part.ts';

function parsed(config: object, images: object): DualConfig {
  return parseDualConfig({
    config: { json: config, origin: 'config.json' },
    images: { json: images, origin: 'preprocessor_config.json' },
    processor: { json: {}, origin: 'processor_config.json' },
  });
}

const CLIP = { model_type: 'clip', vision_config: {} };
const SIGLIP = { model_type: 'siglip' };

describe('images of a model that embeds them', () => {
  it('are prepared as published folders of CLIP say, in old and new forms', () => {
    const old = { size: 224, crop_size: 224, do_center_crop: true, resample: 3 };
    const newer = { size: { shortest_edge: 224 }, crop_size: { height: 224, width: 224 } };
    for (const images of [old, newer, {}]) {
      const { shape, preprocessing, probability } = parsed(CLIP, images);
      expect(preprocessing).toMatchObject({
        resize: 224,
        crop: { width: 224, height: 224 },
        cropRounding: 'down',
        resample: 'bicubic',
      });
      expect(shape).toMatchObject({ patches: 7, patchSide: 32, dim: 512, pooling: 'class token' });
      expect(shape.layers).toMatchObject({ activation: 'quick_gelu', numHeads: 12 });
      expect(probability).toBe('softmax');
    }
  });

  it('are prepared as published folders of SigLIP say', () => {
    const size = { height: 384, width: 384 };
    const config = { ...SIGLIP, vision_config: { image_size: 384 } };
    const { shape, preprocessing, probability } = parsed(config, { size, resample: 2 });
    expect(preprocessing).toMatchObject({ resize: size, crop: null, resample: 'bilinear' });
    expect(shape).toMatchObject({
      patches: 24,
      dim: 768,
      pooling: 'attention',
      mean: [0.5, 0.5, 0.5],
    });
    expect(shape.layers).toMatchObject({ activation: 'gelu_tanh' });
    expect(probability).toBe('sigmoid');
  });

  it.each([
    ['of another size', CLIP, { size: 336, crop_size: 336 }, /must become 224 x 224 pixels/],
    ['cut beside the image', CLIP, { size: 200 }, /must become 224 x 224/],
    ['of no size of their own', SIGLIP, { do_resize: false }, /must become 224 x 224/],
    ['of the shorter side alone', SIGLIP, { size: { shortest_edge: 224 } }, /size: expected width/],
    ['too large', { ...SIGLIP, vision_config: { image_size: 4096 } }, {}, /image_size/],
    ['smaller than a patch', { ...CLIP, vision_config: { patch_size: 300 } }, {}, /patches/],
    [
      'of too many patches',
      { ...CLIP, vision_config: { image_size: 2048, patch_size: 1 } },
      {},
      /16384 patches/,
    ],
    [
      'of a tower without a head',
      { ...SIGLIP, vision_config: { vision_use_head: false } },
      {},
      /without a head/,
    ],
    [
      'of heads of unequal width',
      { ...CLIP, vision_config: { num_attention_heads: 7 } },
      {},
      /multiple/,
    ],
  ])('are refused %s', (_what, config, images, message) => {
    expect(() => parsed(config, images)).toThrow(message);
  });
});

it('what configurations leave out of texts is as Transformers has it', () => {
  expect(textPartOf({ model_type: 'siglip' })).toMatchObject({
    vocab_size: 32_000,
    max_position_embeddings: 64,
  });
  const clip = textPartOf({
    model_type: 'clip',
    projection_dim: 768,
    text_config: { hidden_size: 768, projection_dim: 512, model_type: 'clip_text_model' },
  });
  expect(clip).toMatchObject({ model_type: 'clip', hidden_size: 768, projection_dim: 768 });
  expect(textEndOf(clip, 77)).toEqual({ type: 'cut', eosTokenId: 49_407 });
  const old = textPartOf({ model_type: 'clip', text_config: { eos_token_id: 2 } });
  expect(textEndOf(old, 77)).toEqual({ type: 'cut', eosTokenId: null });
  expect(textEndOf(textPartOf({ model_type: 'siglip' }), 64)).toEqual({
    type: 'padded',
    length: 64,
  });
  expect(textPartOf({ model_type: 'bert' })).toEqual({ model_type: 'bert' });
  expect(textEndOf({ model_type: 'bert' }, 512)).toBeNull();
});
