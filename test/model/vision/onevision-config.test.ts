/** Configurations of LLaVA-OneVision's images, right and wrong. */
import { describe, expect, it } from 'vitest';
import { textModelConfig } from '../../../src/model/huggingface/text-config.ts';
import { ModelError } from '../../../src/model/model-error.ts';
import {
  isOnevisionConfig,
  parseOnevisionConfig,
} from '../../../src/model/vision/onevision-config.ts';
import { shownImage } from '../../../src/model/vision/placeholder.ts';

type Fields = Readonly<Record<string, unknown>>;

/** As llava-onevision-qwen2-0.5b-ov-hf's folder has it. */
const TOWER = {
  model_type: 'siglip_vision_model',
  hidden_size: 1152,
  image_size: 384,
  intermediate_size: 4304,
  num_attention_heads: 16,
  num_hidden_layers: 26,
  patch_size: 14,
};
const IMAGES = { image_mean: [0.5, 0.5, 0.5], image_std: [0.5, 0.5, 0.5] };

function parsed({ tower = {}, images = {}, config = {}, processor = {} }: Record<string, Fields>) {
  const files = {
    config: {
      json: { model_type: 'llava_onevision', vision_config: { ...TOWER, ...tower }, ...config },
      origin: 'config.json',
    },
    images: { json: { ...IMAGES, ...images }, origin: 'preprocessor_config.json' },
    processor: { json: processor, origin: 'processor_config.json' },
  };
  return parseOnevisionConfig(files, 896);
}

describe('a configuration', () => {
  it('is read with what published folders leave out', () => {
    const vision = parsed({
      processor: { num_image_tokens: 729, vision_aspect_ratio: 'anyres_max_9' },
    });
    expect(vision).toMatchObject({
      kind: 'anyres',
      tokensPerTile: 729,
      imageToken: '<image>',
      imageTokenId: 151_646,
      cutting: { tileSide: 384, cells: 27, maxTiles: 9, margins: [127, 127, 127] },
      shape: { lineEnd: true, tower: { numLayers: 26, outputNorm: false } },
    });
    expect(vision.cutting.canvases).toHaveLength(36);
    expect(vision.cutting.canvases.at(-1)).toEqual({ rows: 6, columns: 6 });
    expect(vision.cutting.canvases[1]).toEqual({ rows: 1, columns: 2 });
  });

  it('has the color of its mean around images, which is CLIP’s where no file says it', () => {
    const margins = (images: Fields) => parsed({ images }).cutting.margins;
    expect(margins({ image_mean: [0, 0.999, 1] })).toEqual([0, 254, 255]);
    expect(margins({ image_mean: undefined })).toEqual([122, 116, 104]);
  });

  it('shows as many tokens as lines were scaled to', () => {
    const grid = { rows: 6, columns: 6, shown: { rows: 162, columns: 162 } };
    const scaled = { rows: 81, columns: 81 };
    expect(shownImage({ ...grid, scaled }, parsed({})).tokensPerTile).toBe(729 + 81 * 82);
    expect(shownImage(grid, parsed({})).tokensPerTile).toBe(729 + 162 * 163);
  });

  it('is known by its type, and has a text model of Qwen 2, tied where that one says so', () => {
    expect(isOnevisionConfig({ model_type: 'llava_onevision' })).toBe(true);
    expect(isOnevisionConfig({ model_type: 'llava_next' })).toBe(false);
    const outer = { model_type: 'llava_onevision', tie_word_embeddings: false };
    const tiedBy = (text: Fields) => textModelConfig({ ...outer, text_config: text });
    expect(tiedBy({})).toMatchObject({ model_type: 'qwen2', tie_word_embeddings: false });
    expect(tiedBy({ tie_word_embeddings: true })).toMatchObject({ tie_word_embeddings: true });
  });

  it.each<[string, Record<string, Fields>, RegExp]>([
    ['a tower of CLIP', { tower: { model_type: 'clip_vision_model' } }, /model_type/],
    ['all sizes', { config: { vision_aspect_ratio: 'anyres' } }, /anyres_max_ and a number/],
    ['no tiles', { config: { vision_aspect_ratio: 'anyres_max_0' } }, /anyres_max_ and a number/],
    [
      'other sizes',
      { processor: { vision_aspect_ratio: 'anyres_max_4' } },
      /is not that of config/,
    ],
    ['other tokens', { processor: { num_image_tokens: 728 } }, /is 728, and a tile has 729/],
    ['a strange mean', { images: { image_mean: [0, 0, 2] } }, /image_mean/],
    ['no filter', { images: { resample: 0 } }, /resized without a filter/],
    ['other tiles', { images: { size: { height: 336, width: 336 } } }, /tiles of 336 pixels/],
    ['other canvases', { images: { image_grid_pinpoints: [[384, 384]] } }, /not those of config/],
    ['the class token', { config: { vision_feature_select_strategy: 'default' } }, /strategy/],
  ])('is refused with %s', (_what, changes, message) => {
    const reading = () => parsed(changes);
    expect(reading).toThrow(ModelError);
    expect(reading).toThrow(message);
  });
});
