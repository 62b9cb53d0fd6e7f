/** Configurations of InternVL's images, right and wrong. */
import { describe, expect, it } from 'vitest';
import { ModelError } from '../../../src/model/model-error.ts';
import { parseCanvasConfig } from '../../../src/model/vision/canvas-config.ts';
import { shownImage } from '../../../src/model/vision/placeholder.ts';
import { textModelConfig } from '../../../src/model/huggingface/text-config.ts';

type Fields = Readonly<Record<string, unknown>>;

/** As InternVL3-1B's folder has it. */
const TOWER = {
  model_type: 'internvl_vision',
  attention_bias: true,
  hidden_size: 1024,
  image_size: [448, 448],
  patch_size: [14, 14],
  num_attention_heads: 16,
};

function parsed({ tower = {}, images = {}, config = {}, processor = {} }: Record<string, Fields>) {
  const size = { height: 448, width: 448 };
  const files = {
    config: {
      json: { model_type: 'internvl', vision_config: { ...TOWER, ...tower }, ...config },
      origin: 'config.json',
    },
    images: { json: { size, ...images }, origin: 'preprocessor_config.json' },
    processor: { json: processor, origin: 'processor_config.json' },
  };
  return parseCanvasConfig(files, 896);
}

describe('a configuration', () => {
  it('is read with what published folders leave out', () => {
    expect(parsed({})).toMatchObject({
      kind: 'canvas',
      tokensPerTile: 256,
      imageTokenId: 151_667,
      attentionBias: true,
      cutting: { kind: 'canvas', tileSide: 448, minTiles: 1, maxTiles: 12, resample: 'bicubic' },
      shape: {
        patches: 32,
        connector: { kind: 'mlp', side: 2, activation: 'gelu', bias: true, normEps: 1e-5 },
        tower: { intermediateSize: 4096, numLayers: 24, activation: 'gelu', outputNorm: false },
      },
    });
  });

  it('shows an image without tiles as one, others with all of the image as one more', () => {
    const one = { tokensPerTile: 256, placeholder: `<img>${'<IMG_CONTEXT>'.repeat(256)}</img>` };
    expect(shownImage({ rows: 0, columns: 0 }, parsed({}))).toEqual(one);
    const { placeholder } = shownImage({ rows: 2, columns: 3 }, parsed({}));
    expect(placeholder.split('<IMG_CONTEXT>')).toHaveLength(7 * 256 + 1);
  });

  it('has a text model of Qwen 2 where it does not say which', () => {
    const { model_type: type } = Object(textModelConfig({ model_type: 'internvl' })) as Fields;
    expect(type).toBe('qwen2');
  });

  it.each<[string, Record<string, Fields>, RegExp]>([
    ['norms of queries and keys', { tower: { use_qk_norm: true } }, /use_qk_norm/],
    ['another norm', { tower: { norm_type: 'rms_norm' } }, /norm_type/],
    ['a norm after its layers', { tower: { use_mean_pooling: false } }, /use_mean_pooling/],
    ['no positions', { tower: { use_absolute_position_embeddings: false } }, /use_absolute/],
    ['tiles that are no squares', { tower: { image_size: [448, 224] } }, /expected a square/],
    ['another layer', { config: { vision_feature_layer: -2 } }, /vision_feature_layer/],
    ['the class token', { config: { vision_feature_select_strategy: 'full' } }, /strategy/],
    ['other tiles', { images: { size: { height: 384, width: 384 } } }, /sees 448 x 448/],
    ['tiles that are wider', { images: { size: { height: 448, width: 384 } } }, /384 x 448 pixels/],
    ['no room for the whole', { images: { max_patches: 256 } }, /max_patches/],
    ['no resizing', { images: { do_resize: false } }, /do_resize/],
    ['no tiles', { images: { max_patches: 0 } }, /max_patches/],
    ['thousands of tiles', { images: { max_patches: 4096 } }, /max_patches/],
    ['more tiles at least than at most', { images: { min_patches: 13 } }, /min_patches is more/],
    ['canvases that are huge', { images: { max_patches: 200 } }, /canvases of 40140800 pixels/],
    ['patches of a pixel', { tower: { patch_size: 1 } }, /200704 patches/],
    ['a shuffle of thirds', { config: { downsample_ratio: 1 / 3 } }, /32 patches .* no whole/],
    ['a shuffle of 0', { config: { downsample_ratio: 0 } }, /downsample_ratio/],
    ['a shuffle that is no square', { config: { downsample_ratio: 0.3 } }, /no whole squares/],
    ['other tokens', { processor: { image_seq_length: 64 } }, /64, and a tile has 256/],
  ])('is refused with %s', (_what, changes, message) => {
    const reading = () => parsed(changes);
    expect(reading).toThrow(ModelError);
    expect(reading).toThrow(message);
  });
});
