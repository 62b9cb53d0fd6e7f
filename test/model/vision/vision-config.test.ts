import { describe, expect, it } from 'vitest';

import { tileGrid } from '../../../src/images/tiles.ts';
import { inspectModelFolder } from '../../../src/model/folder/model-folder.ts';
import { inspectVision } from '../../../src/model/vision/vision-folder.ts';
import { parseVisionConfig } from '../../../src/model/vision/vision-config.ts';
import { FAMILY_FIXTURES } from '../../support/families.ts';
import { inspectedVision, visionFolder } from '../../support/vision.ts';

type Fields = Readonly<Record<string, unknown>>;

/** As SmolVLM-256M's folder has it. */
const TOWER = {
  hidden_size: 768,
  image_size: 512,
  model_type: 'smolvlm_vision',
  num_attention_heads: 12,
  patch_size: 16,
};
const IMAGES = {
  do_image_splitting: true,
  image_mean: [0.5, 0.5, 0.5],
  image_std: [0.5, 0.5, 0.5],
  max_image_size: { longest_edge: 512 },
  resample: 1,
  size: { longest_edge: 2048 },
};

function parsed({ tower = {}, images = {}, config = {}, processor = {} }: Record<string, Fields>) {
  const vision_config = { ...TOWER, ...tower };
  const whole = { model_type: 'smolvlm', image_token_id: 49_190, scale_factor: 4, ...config };
  const files = {
    config: { json: { vision_config, ...whole }, origin: 'config.json' },
    images: { json: { ...IMAGES, ...images }, origin: 'preprocessor_config.json' },
    processor: { json: { image_seq_len: 64, ...processor }, origin: 'processor_config.json' },
  };
  return parseVisionConfig(files, 576);
}

describe('a configuration', () => {
  it('is read with what published folders leave out', () => {
    expect(parsed({})).toEqual({
      kind: 'tiles',
      shape: {
        kind: 'tiles',
        tower: {
          hiddenSize: 768,
          intermediateSize: 3072,
          numLayers: 12,
          numHeads: 12,
          layerNormEps: 1e-6,
          activation: 'gelu_tanh',
          style: { classToken: false, inputNorm: false, patchBias: true },
          outputNorm: true,
          patchSide: 16,
          trainedPatches: 32,
        },
        tileSide: 512,
        patches: 32,
        rescale: 1 / 255,
        mean: [0.5, 0.5, 0.5],
        std: [0.5, 0.5, 0.5],
        connector: { kind: 'shuffle', side: 4 },
        textSize: 576,
      },
      cutting: {
        kind: 'tiles',
        longestEdge: 2048,
        tileSide: 512,
        splits: true,
        resample: 'lanczos',
      },
      tokensPerTile: 64,
      texts: {
        image: '<image>',
        around: '<fake_token_around_image>',
        whole: '<global-img>',
      },
      imageTokenId: 49_190,
    });
  });

  it('may have images that are neither rescaled nor normalized', () => {
    const { shape } = parsed({ images: { do_rescale: false, do_normalize: false } });
    expect(shape).toMatchObject({ rescale: 1, mean: [0, 0, 0], std: [1, 1, 1] });
  });

  it.each([
    ['patches of 0 pixels', { tower: { patch_size: 0 } }, /vision_config\.patch_size/],
    ['patches larger than a tile', { tower: { patch_size: 1024, image_size: 1024 } }, /patches/],
    ['too many patches', { tower: { patch_size: 1 } }, /16384 patches/],
    ['tiles larger than positions reach', { tower: { image_size: 256 } }, /larger than the images/],
    ['patches larger than images', { tower: { image_size: 8 } }, /larger than images/],
    ['a scale that does not divide', { config: { scale_factor: 5 } }, /multiple of scale_factor/],
    ['heads that do not divide', { tower: { num_attention_heads: 7 } }, /multiple of num_att/],
    ['an unknown activation', { tower: { hidden_act: 'swish' } }, /hidden_act/],
    ['a billion layers', { tower: { num_hidden_layers: 1e9 } }, /num_hidden_layers/],
    ['a billion channels', { tower: { hidden_size: 1e9 } }, /hidden_size/],
    ['no tower', { config: { vision_config: null } }, /vision_config/],
    [
      'tiles without end',
      { images: { size: { longest_edge: 4096 }, max_image_size: { longest_edge: 128 } } },
      /1024 tiles/,
    ],
    [
      'tiles of a million pixels',
      { images: { max_image_size: { longest_edge: 1e6 } } },
      /max_image_size/,
    ],
    ['sizes of another kind', { images: { size: { height: 9, width: 9 } } }, /longest_edge/],
    ['no resizing', { images: { do_resize: false } }, /do_resize/],
    ['a deviation of 0', { images: { image_std: [0, 1, 1] } }, /image_std/],
    ['another number of tokens', { processor: { image_seq_len: 81 } }, /is 81, and a tile has 64/],
  ])('with %s is refused', (_what, fields, message) => {
    expect(() => parsed(fields)).toThrow(message);
  });
});

/** Each field of an object, and of those inside, replaced by a value. */
function* replaced(fields: Fields, value: unknown): Generator<Fields> {
  for (const [name, inner] of Object.entries(fields)) {
    yield { ...fields, [name]: value };
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) continue;
    for (const deeper of replaced(inner as Fields, value)) yield { ...fields, [name]: deeper };
  }
}

/** Fields that are not within bounds, or the class of an error. */
function outcomeOf(fields: Record<string, Fields>): string {
  try {
    const { shape, cutting, tokensPerTile } = parsed(fields);
    const { rows, columns } = tileGrid({ width: 3, height: 3 }, cutting);
    if (rows * columns >= 256) return 'tiles';
    if (shape.patches ** 2 > 16_384) return 'patches';
    return tokensPerTile === (shape.patches / shape.connector.side) ** 2 ? 'read' : 'tokens';
  } catch (error) {
    return error instanceof Error ? error.name : 'other';
  }
}

it('any other value in a field’s place is refused in words, or bounded', () => {
  const config = { vision_config: TOWER, image_token_id: 49_190, scale_factor: 4 };
  const processor = { image_seq_len: 64 };
  const values = [
    null,
    -1,
    0,
    0.5,
    1,
    7,
    4095,
    1e9,
    1e308,
    Infinity,
    Number.NaN,
    '9',
    true,
    [],
    {},
  ];
  const parts = Object.entries({ config, images: IMAGES, processor });
  const outcomes = parts.flatMap(([part, fields]) =>
    values.flatMap((value) =>
      [...replaced(fields, value)].map((changed) => outcomeOf({ config, [part]: changed })),
    ),
  );
  expect(outcomes.length).toBeGreaterThan(200);
  expect([...new Set(outcomes)].toSorted()).toEqual(['ModelError', 'read']);
});

describe('a folder', () => {
  it('may have the files of Transformers 4 or of 5', async () => {
    expect((await inspectedVision('smolvlm', 'tiles')).config).toMatchObject({
      tokensPerTile: 4,
      imageTokenId: 4,
      cutting: { longestEdge: 96, tileSide: 32 },
    });
    expect((await inspectedVision('idefics3', 'tiles')).config).toMatchObject({
      tokensPerTile: 1,
      shape: { patches: 3, mean: [0.48, 0.46, 0.41], std: [0.27, 0.26, 0.28] },
      cutting: { longestEdge: 64, tileSide: 29 },
    });
  });

  it.each([
    ['smolvlm', true],
    ['idefics3', false],
  ])('of %s opens as the decoder inside', async (name, tieWordEmbeddings) => {
    const folder = await inspectModelFolder(visionFolder(name));
    expect(folder).toMatchObject({
      kind: 'huggingface',
      config: { family: { modelType: 'llama' }, tieWordEmbeddings, hiddenSize: 32 },
    });
  });

  it.each(['llama', 'gemma3-multimodal', 'llama4', 'smolvlm'])(
    'of %s without the files of a processor sees nothing',
    async (name) => {
      expect(await inspectVision(`${FAMILY_FIXTURES}/${name}`, 32)).toBe(null);
    },
  );
});
