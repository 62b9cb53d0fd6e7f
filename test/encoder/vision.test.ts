/** Tiny towers make the embeddings that Transformers makes of the same images. */
import { cp } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { calibrateVision } from '../../src/encoder/calibrate-vision.ts';
import { cutTiles } from '../../src/images/tiles.ts';
import type { Pixels } from '../../src/images/pixels.ts';
import type { EncoderPrecision } from '../../src/model/encoder/encoder-nodes.ts';
import type { ChannelReaches } from '../../src/model/encoder/smoothing.ts';
import { type EncoderVariant, writeEncoder } from '../../src/model/encoder/write-encoder.ts';
import { SafetensorsWeights } from '../../src/model/huggingface/safetensors.ts';
import type { WeightSource } from '../../src/model/huggingface/weights.ts';
import type { EncoderBuildOptions } from '../../src/model/encoder/write-encoder.ts';
import { buildVision } from '../../src/model/vision/build-vision.ts';
import { inspectVision } from '../../src/model/vision/vision-folder.ts';
import type { VisionPart, VisionShape } from '../../src/model/vision/vision-part.ts';
import { buildVisionGraph } from '../../src/model/vision/vision-graph.ts';
import { runForOutputs } from '../../src/ort/run-for-outputs.ts';
import { Session } from '../../src/ort/session.ts';
import { Tensor } from '../../src/ort/tensor.ts';
import { NOT_FINITE, patchTensor } from '../support/patch-tensor.ts';
import { temporaryCache } from '../support/temporary-cache.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import {
  inspectedVision,
  VISION_MODELS,
  visionFolder,
  visionGguf,
  visionImage,
  visionReference,
} from '../support/vision.ts';
import { cosine, largestDifference } from './support/encoders.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

function options(precision: EncoderPrecision): EncoderBuildOptions<VisionShape> {
  return { precision, cacheDirectory: cache.path, calibrate: calibrateVision };
}

async function build(name: string, precision: EncoderPrecision): Promise<string> {
  return buildVision(await inspectedVision(name, 'tiles'), options(precision));
}

function required(folder: VisionPart | null): VisionPart {
  if (folder === null) throw new Error('the folder sees nothing');
  return folder;
}

/** Embeddings of tiles, one after the other. */
function embed(session: Session, tiles: readonly Pixels[]): Float32Array {
  const side = tiles[0]?.width ?? 0;
  const bytes = new Uint8Array(Buffer.concat(tiles.map(({ data }) => data)));
  const pixels = Tensor.over('uint8', [tiles.length, side, side, 3], bytes);
  const [made] = runForOutputs(session, new Map([['pixels', pixels]]), ['embeddings']);
  const values = made instanceof Tensor ? Float32Array.from(made.data, Number) : new Float32Array();
  made?.release();
  pixels.release();
  return values;
}

describe.each(VISION_MODELS)('%s', (name) => {
  it.each([
    ['safetensors', visionFolder(name)],
    ['GGUF', visionGguf(name)],
  ])('makes the same embeddings in fp32, of %s', async (_format, model) => {
    const vision = await inspectedVision(name, 'tiles', model);
    const { config } = vision;
    const { images } = await visionReference(name);
    expect(Object.keys(images)).toHaveLength(4);
    const path = await buildVision(vision, options('fp32'));
    const session = new Session(path, { intraOpThreads: 1 });
    for (const [file, { rows, columns, embeddings }] of Object.entries(images)) {
      const cut = cutTiles(await visionImage(file), config.cutting);
      expect([cut.rows, cut.columns]).toEqual([rows, columns]);
      const { tokensPerTile, shape } = config;
      expect(embeddings).toHaveLength(cut.tiles.length * tokensPerTile * shape.textSize);
      expect(largestDifference(embed(session, cut.tiles), embeddings)).toBeLessThan(5e-6);
    }
    session.release();
  });

  it('makes near ones in int8, the same whatever a tile is computed beside', async () => {
    const { config } = await inspectedVision(name, 'tiles');
    const { images } = await visionReference(name);
    const session = new Session(await build(name, 'int8'), { intraOpThreads: 1 });
    for (const [file, { embeddings }] of Object.entries(images)) {
      const { tiles } = cutTiles(await visionImage(file), config.cutting);
      const together = embed(session, tiles);
      expect(cosine(together, embeddings)).toBeGreaterThan(0.999);
      const alone = tiles.flatMap((tile) => [...embed(session, [tile])]);
      expect(largestDifference(together, alone)).toBeLessThan(1e-5);
    }
    session.release();
  });
});

it('a build is found again, and another precision is another one', async () => {
  const first = await build('smolvlm', 'fp32');
  expect(await build('smolvlm', 'fp32')).toBe(first);
  expect(await build('smolvlm', 'int8')).not.toBe(first);
});

/** The same tower, but one channel of each normalization is 64 times as large, and undone behind it. */
function uneven(weights: WeightSource): WeightSource {
  const [channel, factor] = [3, 64];
  return {
    get: async (name, shape) => {
      const values = Float32Array.from(await weights.get(name, shape));
      const isNorm = /layer_norm\d\.(weight|bias)$/.test(name);
      const reads = /(?:[qkv]_proj|fc1)\.weight$/.test(name);
      const width = shape.at(-1) ?? 1;
      return values.map((value, at) => {
        if (at % width !== channel) return value;
        if (isNorm) return value * factor;
        return reads ? value / factor : value;
      });
    },
    close: () => weights.close(),
  };
}

it('int8 evens out channels that are far larger than others', async () => {
  const { config, files } = await inspectedVision('smolvlm', 'tiles');
  const { shape, cutting } = config;
  const { embeddings } = (await visionReference('smolvlm')).images['wide.png'] ?? {};
  const { tiles } = cutTiles(await visionImage('wide.png'), cutting);
  const weights = uneven(await SafetensorsWeights.open(files));
  const nearness = async (calibrate: (graphPath: string) => ChannelReaches) => {
    const folder = await temporaryDirectory();
    const graph = async (variant: EncoderVariant) =>
      buildVisionGraph({ shape, weights, ...variant });
    await writeEncoder(folder, 'vision.onnx', 'int8', graph, calibrate);
    const session = new Session(join(folder, 'vision.onnx'), { intraOpThreads: 1 });
    const near = cosine(embed(session, tiles), embeddings ?? []);
    session.release();
    return near;
  };
  expect(await nearness((graphPath) => calibrateVision(graphPath, shape))).toBeGreaterThan(0.999);
  expect(await nearness(() => new Map())).toBeLessThan(0.995);
  await weights.close();
});

describe('a tower is refused', () => {
  it('with a weight that is NaN, in its own layers and in those that are folded', async () => {
    for (const tensor of ['embeddings.patch_embedding', 'encoder.layers.1.mlp.fc2']) {
      const folder = await temporaryDirectory();
      await cp(visionFolder('smolvlm'), folder, { recursive: true });
      const name = `model.vision_model.${tensor}.weight`;
      const file = join(folder, 'model.safetensors');
      await patchTensor(file, name, 0, Uint8Array.from(NOT_FINITE.BF16.NaN));
      const vision = await inspectVision(folder, 32);
      const built = buildVision(required(vision), options('fp32'));
      await expect(built).rejects.toThrow(`tensor "${name}" has a value of NaN`);
    }
  });

  it('that is not what the configuration says', async () => {
    const vision = await inspectVision(visionFolder('smolvlm'), 33);
    await expect(buildVision(required(vision), options('fp32'))).rejects.toThrow(
      /modality_projection.*\[33, 96\]/,
    );
  });
});
