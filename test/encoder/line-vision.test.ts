/** Tiny towers of Pixtral make the embeddings that Transformers makes of the same images. */
import { afterAll, describe, expect, it } from 'vitest';

import { calibrateVision, visionTensors } from '../../src/encoder/calibrate-vision.ts';
import { cutImage } from '../../src/images/cut-image.ts';
import type { Pixels } from '../../src/images/pixels.ts';
import type { EncoderPrecision } from '../../src/model/encoder/encoder-nodes.ts';
import { buildVision } from '../../src/model/vision/build-vision.ts';
import type { LineVision } from '../../src/model/vision/line-config.ts';
import { shownImage } from '../../src/model/vision/placeholder.ts';
import { towerParameters } from '../../src/model/vision/tower-size.ts';
import { visionInputs } from '../../src/model/vision/vision-inputs.ts';
import { runForOutputs } from '../../src/ort/run-for-outputs.ts';
import { Session } from '../../src/ort/session.ts';
import { Tensor } from '../../src/ort/tensor.ts';
import { temporaryCache } from '../support/temporary-cache.ts';
import { inspectedLines, LINE_MODELS, visionImage, visionReference } from '../support/vision.ts';
import { cosine, largestDifference } from './support/encoders.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

async function open(name: string, precision: EncoderPrecision): Promise<Session> {
  const options = { precision, cacheDirectory: cache.path, calibrate: calibrateVision };
  const path = await buildVision(await inspectedLines(name), options);
  return new Session(path, { intraOpThreads: 1 });
}

function embed(session: Session, image: Pixels, { cutting, shape }: LineVision): Float32Array {
  const { tiles, ...grid } = cutImage(image, cutting);
  const inputs = visionTensors(visionInputs(tiles[0]?.data ?? new Uint8Array(), grid, shape));
  const [made] = runForOutputs(session, inputs, ['embeddings']);
  const values = made instanceof Tensor ? Float32Array.from(made.data, Number) : new Float32Array();
  for (const tensor of [made, ...inputs.values()]) tensor?.release();
  return values;
}

describe.each(LINE_MODELS)('%s', (name) => {
  it('makes the same embeddings in fp32, of the same bytes, and writes the same text', async () => {
    const { config } = await inspectedLines(name);
    const { images } = await visionReference(name);
    expect(Object.keys(images)).toHaveLength(4);
    const session = await open(name, 'fp32');
    for (const [file, each] of Object.entries(images)) {
      const { rows, columns, placeholder, patches, embeddings } = each;
      const image = await visionImage(file);
      const cut = cutImage(image, config.cutting);
      expect([cut.rows, cut.columns]).toEqual([rows, columns]);
      expect(Buffer.from(cut.tiles[0]?.data ?? []).toString('base64')).toBe(patches);
      const tokens = { tokensPerTile: rows * columns, tokensPerLine: columns };
      expect(shownImage(cut, config)).toEqual({ placeholder, ...tokens });
      expect(embeddings).toHaveLength(rows * columns * config.shape.textSize);
      expect(largestDifference(embed(session, image, config), embeddings)).toBeLessThan(5e-6);
    }
    session.release();
  });

  it('makes near ones in int8', async () => {
    const { config } = await inspectedLines(name);
    const { images } = await visionReference(name);
    const session = await open(name, 'int8');
    for (const [file, { embeddings }] of Object.entries(images)) {
      const made = embed(session, await visionImage(file), config);
      expect(cosine(made, embeddings)).toBeGreaterThan(0.999);
    }
    session.release();
  });

  it('has as many parameters as its tensors have numbers', async () => {
    const { shape } = (await inspectedLines(name)).config;
    const layer = 4 * 32 * 32 + 3 * 32 * 40 + 2 * 32;
    const sizes = {
      mistral3: 48 * 32 + 32 + 3 * layer + 32 + 128 * 32 + 2 * 32 * 32,
      // Its last layer is not read.
      'llava-pixtral': 48 * 32 + 32 + 2 * layer + 2 * (32 * 32 + 32),
    };
    expect(towerParameters(shape)).toBe(sizes[name]);
  });
});
