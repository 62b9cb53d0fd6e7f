/** Tiny towers that see an image at once make the embeddings that Transformers makes of the same images. */
import { afterAll, describe, expect, it } from 'vitest';

import { calibrateVision, visionTensors } from '../../src/encoder/calibrate-vision.ts';
import { amongOthers, cutImage, type Cutting } from '../../src/images/cut-image.ts';
import type { Pixels } from '../../src/images/pixels.ts';
import type { EncoderPrecision } from '../../src/model/encoder/encoder-nodes.ts';
import { textModelTensor } from '../../src/model/huggingface/text-config.ts';
import { buildVision } from '../../src/model/vision/build-vision.ts';
import { type ShownImage, shownImage } from '../../src/model/vision/placeholder.ts';
import { numPackedRows, packTile } from '../../src/model/vision/packed-rows.ts';
import { embeddingWidth, towerParameters } from '../../src/model/vision/tower-size.ts';
import { visionInputs } from '../../src/model/vision/vision-inputs.ts';
import type { VisionConfig } from '../../src/model/vision/vision-part.ts';
import { runForOutputs } from '../../src/ort/run-for-outputs.ts';
import { Session } from '../../src/ort/session.ts';
import { Tensor } from '../../src/ort/tensor.ts';
import { temporaryCache } from '../support/temporary-cache.ts';
import {
  ANYRES_MODELS,
  CANVAS_MODELS,
  GGUF_MODELS,
  inspectedVision,
  LINE_MODELS,
  QWEN_MODELS,
  SQUARE_MODELS,
  visionFolder,
  visionGguf,
  visionImage,
  visionReference,
} from '../support/vision.ts';
import { cosine, largestDifference } from './support/encoders.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const MODELS = [
  ...QWEN_MODELS.map((name) => [name, 'grid'] as const),
  ...LINE_MODELS.map((name) => [name, 'lines'] as const),
  ...SQUARE_MODELS.map((name) => [name, 'square'] as const),
  ...CANVAS_MODELS.map((name) => [name, 'canvas'] as const),
  ...ANYRES_MODELS.map((name) => [name, 'anyres'] as const),
];

const SQUARE_LAYER = 4 * (24 * 24 + 24) + 24 * 40 + 40 + 40 * 24 + 24 + 4 * 24;
const LINE_LAYER = 4 * 32 * 32 + 3 * 32 * 40 + 2 * 32;

/** Scales of layers are a part of its matrices. */
const INTERN =
  48 * 24 + 24 + 17 * 24 + 24 + 2 * SQUARE_LAYER + 2 * 96 + (96 * 32 + 32 + 32 * 32 + 32);

/** Numbers in the tensors that are read. */
const PARAMETERS = {
  'qwen2-vl': 49_408,
  'qwen2.5-vl': 48_464,
  'qwen3-vl': 87_064,
  'qwen3-vl-moe': 87_064,
  mistral3: 48 * 32 + 32 + 3 * LINE_LAYER + 32 + 128 * 32 + 2 * 32 * 32,
  // Its last layer is not read.
  'llava-pixtral': 48 * 32 + 32 + 2 * LINE_LAYER + 2 * (32 * 32 + 32),
  gemma3: 48 * 24 + 24 + 64 * 24 + 2 * SQUARE_LAYER + 48 + (24 + 24 * 32),
  // Nor its last layer nor the norm after it is read.
  llava: 192 * 24 + 24 + 17 * 24 + 48 + 2 * SQUARE_LAYER + (24 * 32 + 32 + 32 * 32 + 32),
  internvl: INTERN,
  // Biases of its attention are zeros.
  'internvl-plain': INTERN,
  // Places of 9 patches and the class token, and what ends a line.
  'llava-next': 48 * 24 + 10 * 24 + 24 + 48 + 2 * SQUARE_LAYER + (24 * 32 + 32 + 32 * 32 + 32) + 32,
  // Places of 9 patches, and what ends a line.
  'llava-onevision': 48 * 24 + 24 + 9 * 24 + 2 * SQUARE_LAYER + (24 * 32 + 32 + 32 * 32 + 32) + 32,
  'llava-siglip': 192 * 24 + 24 + 16 * 24 + 3 * SQUARE_LAYER + (24 * 32 + 32 * 32),
};

/** Those that are GGUF files too. */
const GGUF_NAMES: ReadonlySet<string> = new Set(GGUF_MODELS.map(([name]) => name));

type Kind = (typeof MODELS)[number][1];
type Seeing = Extract<VisionConfig, { readonly kind: Kind }>;

async function open(
  name: string,
  kind: Kind,
  precision: EncoderPrecision,
  model = visionFolder(name),
): Promise<Session> {
  const options = { precision, cacheDirectory: cache.path, calibrate: calibrateVision };
  const path = await buildVision(await inspectedVision(name, kind, model), options);
  return new Session(path, { intraOpThreads: 1 });
}

/** Embeddings of all tiles of an image, one after the other, or as they are packed. */
function embed(
  session: Session,
  image: Pixels,
  config: Seeing,
  cutting: Cutting = config.cutting,
): Float32Array {
  const { tiles, ...grid } = cutImage(image, cutting);
  const parts = tiles.map(({ data }) => {
    const inputs = visionTensors(visionInputs(data, grid, config.shape));
    const [made] = runForOutputs(session, inputs, ['embeddings']);
    const values = made instanceof Tensor ? Float32Array.from(made.data, Number) : [];
    for (const tensor of [made, ...inputs.values()]) tensor?.release();
    return Float32Array.from(values);
  });
  if (config.kind !== 'anyres') return Float32Array.from(parts.flatMap((values) => [...values]));
  const numRows = numPackedRows(grid, config.tokensPerTile);
  const packed = new Float32Array(numRows * config.shape.textSize);
  // In any order of the tiles.
  for (const [tile, made] of [...parts.entries()].toReversed())
    packTile(packed, made, tile, grid, config.shape.patches);
  return packed;
}

type Images = Awaited<ReturnType<typeof visionReference>>['images'];

/** Images alone, and as one of several where they are seen in another way. */
function seenImages(images: Images) {
  return Object.entries(images).flatMap(([file, { amongOthers: other, ...alone }]) => [
    [file, { ...alone, isAmongOthers: false }] as const,
    ...(other === undefined ? [] : [[file, { ...other, isAmongOthers: true }] as const]),
  ]);
}

/** Tokens of an image of so many cells, besides its text. */
function tokensOf(
  name: string,
  kind: Kind,
  height: number,
  width: number,
): Omit<ShownImage, 'placeholder'> {
  if (kind === 'canvas') return { tokensPerTile: 4 };
  if (kind === 'square') {
    return { tokensPerTile: 16, ...(name === 'gemma3' && { seesWhole: true }) };
  }
  const layout = kind === 'grid' ? { grid: { height, width } } : { tokensPerLine: width };
  return { tokensPerTile: height * width, ...layout };
}

describe.each(MODELS)('%s', (name, kind) => {
  const models: [format: string, model: string][] = [
    ['safetensors', visionFolder(name)],
    ...(GGUF_NAMES.has(name) ? [['GGUF', visionGguf(name)] satisfies [string, string]] : []),
  ];
  it.each(models)(
    'makes the same embeddings in fp32, of the same bytes, and writes the same text, of %s',
    async (_format, model) => {
      const { config } = await inspectedVision(name, kind, model);
      const { images } = await visionReference(name);
      expect(Object.keys(images)).toHaveLength(4);
      const session = await open(name, kind, 'fp32', model);
      for (const [file, each] of seenImages(images)) {
        const { rows, columns, placeholder, patches, embeddings } = each;
        const image = await visionImage(file);
        const cutting = each.isAmongOthers ? amongOthers(config.cutting) : config.cutting;
        const cut = cutImage(image, cutting);
        expect([cut.rows, cut.columns]).toEqual([rows, columns]);
        const bytes = Buffer.concat(cut.tiles.map(({ data }) => data));
        expect(bytes.toString('base64')).toBe(patches);
        const tokens =
          kind === 'anyres'
            ? { tokensPerTile: numPackedRows(cut, 9) }
            : tokensOf(name, kind, rows, columns);
        expect(shownImage(cut, config)).toEqual({ placeholder, ...tokens });
        const numTiles = kind === 'anyres' ? 1 : cut.tiles.length;
        const numTokens = numTiles * tokens.tokensPerTile;
        expect(embeddings).toHaveLength(numTokens * embeddingWidth(config.shape));
        const made = embed(session, image, config, cutting);
        expect(largestDifference(made, embeddings)).toBeLessThan(5e-6);
      }
      session.release();
    },
  );

  it('makes near ones in int8', async () => {
    const { config } = await inspectedVision(name, kind);
    const { images } = await visionReference(name);
    const session = await open(name, kind, 'int8');
    for (const [file, { embeddings }] of Object.entries(images)) {
      const made = embed(session, await visionImage(file), config);
      expect(cosine(made, embeddings)).toBeGreaterThan(0.999);
    }
    session.release();
  });

  it('has as many parameters as its tensors have numbers', async () => {
    const { shape } = (await inspectedVision(name, kind)).config;
    expect(towerParameters(shape)).toBe(PARAMETERS[name]);
  });
});

it.each(QWEN_MODELS)(
  '%s sees an image of one row, of one column, and of one cell',
  async (name) => {
    const { config } = await inspectedVision(name, 'grid');
    const session = await open(name, 'grid', 'fp32');
    const cutting = { ...config.cutting, minPixels: 1 };
    for (const [width, height] of [
      [64, 8],
      [8, 64],
      [8, 8],
    ] as const) {
      const data = Uint8Array.from({ length: width * height * 3 }, (_, at) => (at * 37) % 256);
      const made = embed(session, { width, height, data }, { ...config, cutting });
      expect(made).toHaveLength(((width * height) / 64) * embeddingWidth(config.shape));
      expect(made.every(Number.isFinite)).toBe(true);
    }
    session.release();
  },
);

it('tensors of published folders, and of those that Transformers 5 writes, have the same names', () => {
  const layer = 'encoder.layers.3.layer_norm1.weight';
  for (const before of ['vision_tower.', 'vision_tower.vision_model.', 'model.vision_tower.']) {
    expect(textModelTensor(`${before}${layer}`)).toBe(`model.vision_model.${layer}`);
  }
  const norm = 'multi_modal_projector.mm_soft_emb_norm.weight';
  expect(textModelTensor(`model.${norm}`)).toBe(norm);
  expect(textModelTensor(norm)).toBe(norm);
});
