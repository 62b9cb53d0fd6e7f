/** Tiny towers of Qwen-VL make the embeddings that Transformers makes of the same images. */
import { afterAll, describe, expect, it } from 'vitest';

import { calibrateVision, visionTensors } from '../../src/encoder/calibrate-vision.ts';
import type { GridCutting } from '../../src/images/cut-image.ts';
import { cutPatches } from '../../src/images/patches.ts';
import type { Pixels } from '../../src/images/pixels.ts';
import type { EncoderPrecision } from '../../src/model/encoder/encoder-nodes.ts';
import { buildVision } from '../../src/model/vision/build-vision.ts';
import type { GridVision } from '../../src/model/vision/grid-config.ts';
import { embeddingWidth, towerParameters } from '../../src/model/vision/tower-size.ts';
import { visionInputs } from '../../src/model/vision/vision-inputs.ts';
import { runForOutputs } from '../../src/ort/run-for-outputs.ts';
import { Session } from '../../src/ort/session.ts';
import { Tensor } from '../../src/ort/tensor.ts';
import { temporaryCache } from '../support/temporary-cache.ts';
import { inspectedGrid, QWEN_MODELS, visionImage, visionReference } from '../support/vision.ts';
import { cosine, largestDifference } from './support/encoders.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

async function open(name: string, precision: EncoderPrecision): Promise<Session> {
  const options = { precision, cacheDirectory: cache.path, calibrate: calibrateVision };
  const path = await buildVision(await inspectedGrid(name), options);
  return new Session(path, { intraOpThreads: 1 });
}

function embed(session: Session, image: Pixels, { cutting, shape }: GridVision): Float32Array {
  const { tiles, ...grid } = cutPatches(image, cutting);
  const inputs = visionTensors(visionInputs(tiles[0]?.data ?? new Uint8Array(), grid, shape));
  const [made] = runForOutputs(session, inputs, ['embeddings']);
  const values = made instanceof Tensor ? Float32Array.from(made.data, Number) : new Float32Array();
  for (const tensor of [made, ...inputs.values()]) tensor?.release();
  return values;
}

describe.each(QWEN_MODELS)('%s', (name) => {
  it('makes the same embeddings in fp32', async () => {
    const { config: vision } = await inspectedGrid(name);
    const { images } = await visionReference(name);
    expect(Object.keys(images)).toHaveLength(4);
    const session = await open(name, 'fp32');
    for (const [file, { rows, columns, patches, embeddings }] of Object.entries(images)) {
      const image = await visionImage(file);
      const cut = cutPatches(image, vision.cutting);
      expect([cut.rows, cut.columns]).toEqual([rows, columns]);
      expect(Buffer.from(cut.tiles[0]?.data ?? []).toString('base64')).toBe(patches);
      expect(embeddings).toHaveLength(rows * columns * embeddingWidth(vision.shape));
      expect(largestDifference(embed(session, image, vision), embeddings)).toBeLessThan(5e-6);
    }
    session.release();
  });

  it('makes near ones in int8', async () => {
    const { config: vision } = await inspectedGrid(name);
    const { images } = await visionReference(name);
    const session = await open(name, 'int8');
    for (const [file, { embeddings }] of Object.entries(images)) {
      const made = embed(session, await visionImage(file), vision);
      expect(cosine(made, embeddings)).toBeGreaterThan(0.999);
    }
    session.release();
  });

  it('sees an image of one row, of one column, and of one cell', async () => {
    const { config: vision } = await inspectedGrid(name);
    const session = await open(name, 'fp32');
    const cutting: GridCutting = { ...vision.cutting, minPixels: 1 };
    for (const [width, height] of [
      [64, 8],
      [8, 64],
      [8, 8],
    ] as const) {
      const data = Uint8Array.from({ length: width * height * 3 }, (_, at) => (at * 37) % 256);
      const made = embed(session, { width, height, data }, { ...vision, cutting });
      expect(made).toHaveLength(((width * height) / 64) * embeddingWidth(vision.shape));
      expect(made.every(Number.isFinite)).toBe(true);
    }
    session.release();
  });

  it('has as many weights as its file', async () => {
    const { config } = await inspectedGrid(name);
    const counted = { 'qwen2-vl': 49_408, 'qwen2.5-vl': 48_464, 'qwen3-vl': 87_064 };
    expect(towerParameters(config.shape)).toBe(counted[name]);
  });
});
