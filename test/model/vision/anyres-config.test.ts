/** Configurations of LLaVA-NeXT's images, right and wrong. */
import { describe, expect, it } from 'vitest';
import { textModelConfig, textModelTensor } from '../../../src/model/huggingface/text-config.ts';
import { ModelError } from '../../../src/model/model-error.ts';
import { parseAnyresConfig } from '../../../src/model/vision/anyres-config.ts';
import { shownImage } from '../../../src/model/vision/placeholder.ts';

type Fields = Readonly<Record<string, unknown>>;

/** As llava-v1.6-mistral-7b-hf's folder has it. */
const TOWER = {
  model_type: 'clip_vision_model',
  hidden_size: 1024,
  image_size: 336,
  intermediate_size: 4096,
  num_attention_heads: 16,
  num_hidden_layers: 24,
  patch_size: 14,
};
const IMAGES = { size: { shortest_edge: 336 }, crop_size: { height: 336, width: 336 } };

function parsed({ tower = {}, images = {}, config = {}, processor = {} }: Record<string, Fields>) {
  const files = {
    config: {
      json: { model_type: 'llava_next', vision_config: { ...TOWER, ...tower }, ...config },
      origin: 'config.json',
    },
    images: { json: { ...IMAGES, ...images }, origin: 'preprocessor_config.json' },
    processor: { json: processor, origin: 'processor_config.json' },
  };
  return parseAnyresConfig(files, 4096);
}

/** The same canvases in both files. */
function both(canvases: unknown): Record<string, Fields> {
  const told = { image_grid_pinpoints: canvases };
  return { config: told, images: told };
}

const [SMALL, WIDE] = [{ height: 32, width: 32 }, [[32, 32 * 256]]];
const many: Record<string, Fields> = {
  tower: { image_size: 32 },
  images: { size: SMALL, crop_size: SMALL, image_grid_pinpoints: WIDE },
  config: { image_grid_pinpoints: WIDE },
};

describe('a configuration', () => {
  it('is read with what published folders leave out', () => {
    expect(parsed({})).toMatchObject({
      kind: 'anyres',
      tokensPerTile: 576,
      imageToken: '<image>',
      imageTokenId: 32_000,
      cutting: {
        tileSide: 336,
        cells: 24,
        canvases: [
          { rows: 1, columns: 2 },
          { rows: 2, columns: 1 },
          { rows: 2, columns: 2 },
          { rows: 3, columns: 1 },
          { rows: 1, columns: 3 },
        ],
        resample: 'bicubic',
      },
      shape: { lineEnd: true, tower: { numLayers: 23 }, connector: { activation: 'gelu' } },
    });
  });

  it('shows an image as one run of tokens, and one without tiles with the end of a line', () => {
    const shown = { rows: 10, columns: 48 };
    const { placeholder, tokensPerTile } = shownImage({ rows: 1, columns: 2, shown }, parsed({}));
    expect([tokensPerTile, placeholder.length]).toEqual([576 + 490, 7 * (576 + 490)]);
    expect(shownImage({ rows: 0, columns: 0 }, parsed({})).tokensPerTile).toBe(577);
  });

  it('has a text model of Llama where it does not say which, and the names of both formats', () => {
    expect(textModelConfig({ model_type: 'llava_next' })).toMatchObject({
      model_type: 'llama',
      hidden_size: 4096,
    });
    expect(textModelTensor('model.image_newline')).toBe('image_newline');
    expect(textModelTensor('image_newline')).toBe('image_newline');
  });

  it.each<[string, Record<string, Fields>, RegExp]>([
    ['other tiles', { images: { size: { shortest_edge: 224 } } }, /tiles of 224 pixels, .* 336/],
    ['other crops', { images: { crop_size: { height: 336, width: 224 } } }, /tiles of 224 pixels/],
    ['other canvases', { images: { image_grid_pinpoints: [[336, 336]] } }, /not those of config/],
    ['no canvases', both([]), /image_grid_pinpoints/],
    ['hundreds of canvases', both(Array.from({ length: 65 }, () => [336, 336])), /pinpoints/],
    ['half a tile', both([[336, 500]]), /500 x 336 are no whole tiles/],
    ['tall half tiles', both([[500, 336]]), /336 x 500 are no whole tiles/],
    ['huge canvases', both([[336, 336 * 223]]), /223 tiles; at most 255 and 25000000 pixels/],
    ['many tiles', many, /8192 x 32 pixels are 256 tiles; at most 255/],
    ['other patches', { processor: { patch_size: 16 } }, /patch_size is 16, and the model has 14/],
    ['patches of a pixel', { tower: { patch_size: 1 } }, /112896 patches/],
    ['the class token', { config: { vision_feature_select_strategy: 'full' } }, /strategy/],
    ['no such layer', { config: { vision_feature_layer: -26 } }, /no layer -26/],
    ['several layers', { config: { vision_feature_layer: [-2, -5] } }, /vision_feature_layer/],
    ['no resizing', { images: { do_resize: false } }, /do_resize/],
  ])('is refused with %s', (_what, changes, message) => {
    const reading = () => parsed(changes);
    expect(reading).toThrow(ModelError);
    expect(reading).toThrow(message);
  });
});
