/** Tiny towers of Gemma 3 and LLaVA make the embeddings that Transformers makes of the same images. */
import { afterAll, describe, expect, it } from 'vitest';

import { calibrateVision, visionTensors } from '../../src/encoder/calibrate-vision.ts';
import { cutImage } from '../../src/images/cut-image.ts';
import type { Pixels } from '../../src/images/pixels.ts';
import type { EncoderPrecision } from '../../src/model/encoder/encoder-nodes.ts';
import { textModelTensor } from '../../src/model/huggingface/text-config.ts';
import { buildVision } from '../../src/model/vision/build-vision.ts';
import { shownImage } from '../../src/model/vision/placeholder.ts';
import type { SquareVision } from '../../src/model/vision/square-config.ts';
import { embeddingWidth, towerParameters } from '../../src/model/vision/tower-size.ts';
import { visionInputs } from '../../src/model/vision/vision-inputs.ts';
import { runForOutputs } from '../../src/ort/run-for-outputs.ts';
import { Session } from '../../src/ort/session.ts';
import { Tensor } from '../../src/ort/tensor.ts';
import { temporaryCache } from '../support/temporary-cache.ts';
import { inspectedSquare, SQUARE_MODELS, visionImage, visionReference } from '../support/vision.ts';
import { cosine, largestDifference } from './support/encoders.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

async function open(name: string, precision: EncoderPrecision): Promise<Session> {
  const options = { precision, cacheDirectory: cache.path, calibrate: calibrateVision };
  const path = await buildVision(await inspectedSquare(name), options);
  return new Session(path, { intraOpThreads: 1 });
}

function embed(session: Session, image: Pixels, { cutting, shape }: SquareVision): Float32Array {
  const { tiles, ...grid } = cutImage(image, cutting);
  const inputs = visionTensors(visionInputs(tiles[0]?.data ?? new Uint8Array(), grid, shape));
  const [made] = runForOutputs(session, inputs, ['embeddings']);
  const values = made instanceof Tensor ? Float32Array.from(made.data, Number) : new Float32Array();
  for (const tensor of [made, ...inputs.values()]) tensor?.release();
  return values;
}

describe.each(SQUARE_MODELS)('%s', (name) => {
  it('makes the same embeddings in fp32, of the same bytes, and writes the same text', async () => {
    const { config } = await inspectedSquare(name);
    const { images } = await visionReference(name);
    expect(Object.keys(images)).toHaveLength(4);
    const session = await open(name, 'fp32');
    for (const [file, { placeholder, patches, embeddings }] of Object.entries(images)) {
      const image = await visionImage(file);
      const cut = cutImage(image, config.cutting);
      expect(Buffer.from(cut.tiles[0]?.data ?? []).toString('base64')).toBe(patches);
      const seen = name === 'gemma3' ? { seesWhole: true } : {};
      expect(shownImage(cut, config)).toEqual({ placeholder, tokensPerTile: 16, ...seen });
      expect(embeddings).toHaveLength(16 * embeddingWidth(config.shape));
      expect(largestDifference(embed(session, image, config), embeddings)).toBeLessThan(5e-6);
    }
    session.release();
  });

  it('makes near ones in int8', async () => {
    const { config } = await inspectedSquare(name);
    const { images } = await visionReference(name);
    const session = await open(name, 'int8');
    for (const [file, { embeddings }] of Object.entries(images)) {
      const made = embed(session, await visionImage(file), config);
      expect(cosine(made, embeddings)).toBeGreaterThan(0.999);
    }
    session.release();
  });

  it('has as many parameters as its tensors have numbers', async () => {
    const { shape } = (await inspectedSquare(name)).config;
    const layer = 4 * (24 * 24 + 24) + 24 * 40 + 40 + 40 * 24 + 24 + 4 * 24;
    const sizes = {
      gemma3: 48 * 24 + 24 + 64 * 24 + 2 * layer + 48 + (24 + 24 * 32),
      // Nor its last layer nor the norm after it is read.
      llava: 192 * 24 + 24 + 17 * 24 + 48 + 2 * layer + (24 * 32 + 32 + 32 * 32 + 32),
      'llava-siglip': 192 * 24 + 24 + 16 * 24 + 3 * layer + (24 * 32 + 32 * 32),
    };
    expect(towerParameters(shape)).toBe(sizes[name]);
  });
});

it('tensors of published folders, and of those that Transformers 5 writes, have the same names', () => {
  const layer = 'encoder.layers.3.layer_norm1.weight';
  for (const before of ['vision_tower.', 'vision_tower.vision_model.', 'model.vision_tower.']) {
    expect(textModelTensor(`${before}${layer}`)).toBe(`model.vision_model.${layer}`);
  }
  const norm = 'multi_modal_projector.mm_soft_emb_norm.weight';
  expect(textModelTensor(`model.${norm}`)).toBe(norm);
  expect(textModelTensor(norm)).toBe(norm);
});
