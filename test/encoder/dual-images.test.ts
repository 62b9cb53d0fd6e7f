/** Image towers of CLIP and SigLIP make the vectors that Transformers makes of the same images. */
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { calibrateImages } from '../../src/encoder/calibrate-vision.ts';
import { runImageJob } from '../../src/front/images/image-job.ts';
import { ImageDecoder } from '../../src/images/decode.ts';
import { buildImageTower } from '../../src/model/dual/build-image-tower.ts';
import { type DualImages, inspectDual, readLogitScale } from '../../src/model/dual/dual-folder.ts';
import type { EncoderPrecision } from '../../src/model/encoder/encoder-nodes.ts';
import { runForOutputs } from '../../src/ort/run-for-outputs.ts';
import { Session } from '../../src/ort/session.ts';
import { Tensor } from '../../src/ort/tensor.ts';
import {
  DUAL_MODELS,
  dualFolder,
  dualImage,
  type DualName,
  dualReference,
} from '../support/dual-encoders.ts';
import { NOT_FINITE, patchTensor } from '../support/patch-tensor.ts';
import { temporaryCache } from '../support/temporary-cache.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { cosine, largestDifference } from './support/encoders.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

async function inspected(folder: string): Promise<DualImages> {
  const images = await inspectDual(folder);
  if (images === null) throw new Error('the folder sees nothing');
  return images;
}

function build(images: DualImages, precision: EncoderPrecision): Promise<string> {
  return buildImageTower(images, {
    precision,
    cacheDirectory: cache.path,
    calibrate: calibrateImages,
  });
}

/** Pixels of all images of the reference, each as the model takes it. */
async function pixelsOf(name: DualName, { config }: DualImages): Promise<Uint8Array[]> {
  const decoder = await ImageDecoder.load();
  const { preprocessing } = config;
  const made: Uint8Array[] = [];
  for (const file of (await dualReference(name)).images) {
    const job = { file: await dualImage(file), preprocessing, datatype: 'UINT8' } as const;
    const answer = await runImageJob(decoder, { ...job, transparency: 'on white' });
    if (answer.type === 'done' && answer.result instanceof Uint8Array) made.push(answer.result);
  }
  return made;
}

function embed(session: Session, images: readonly Uint8Array[], side: number): Float32Array {
  const bytes = new Uint8Array(Buffer.concat(images));
  const pixels = Tensor.over('uint8', [images.length, side, side, 3], bytes);
  const [made] = runForOutputs(session, new Map([['pixels', pixels]]), ['embeddings']);
  const values = made instanceof Tensor ? Float32Array.from(made.data, Number) : new Float32Array();
  made?.release();
  pixels.release();
  return values;
}

describe.each(DUAL_MODELS)('%s', (name) => {
  it.each([
    ['fp32', 0.999_999, 5e-6],
    ['int8', 0.99, 0.1],
  ] as const)('makes such vectors in %s, together and alone', async (precision, least, most) => {
    const images = await inspected(dualFolder(name));
    const { imageSide, dim } = images.config.shape;
    const session = new Session(await build(images, precision), { intraOpThreads: 1 });
    const pixels = await pixelsOf(name, images);
    const { imageVectors } = await dualReference(name);
    expect(pixels).toHaveLength(imageVectors.length);
    const together = embed(session, pixels, imageSide);
    for (const [row, expected] of imageVectors.entries()) {
      const vector = together.subarray(row * dim, (row + 1) * dim);
      expect(cosine(vector, expected)).toBeGreaterThan(least);
      expect(largestDifference(vector, expected)).toBeLessThan(most);
      const alone = embed(session, pixels.slice(row, row + 1), imageSide);
      expect(largestDifference(vector, alone)).toBeLessThan(1e-5);
    }
    session.release();
  });

  it('has the scale of logits in its weights', async () => {
    const { textVectors, imageVectors, logits } = await dualReference(name);
    const { factor, bias } = await readLogitScale(await inspected(dualFolder(name)));
    const made = imageVectors.map((image) =>
      textVectors.map((text) => factor * cosine(image, text) + bias),
    );
    expect(largestDifference(made.flat(), logits.flat())).toBeLessThan(1e-5);
  });
});

it('a build is found again, and another precision is another one', async () => {
  const images = await inspected(dualFolder('siglip'));
  const first = await build(images, 'fp32');
  expect(await build(images, 'fp32')).toBe(first);
  expect(await build(images, 'int8')).not.toBe(first);
});

it('a tower with a weight that is NaN is refused, in its layers and in what is folded', async () => {
  for (const tensor of ['embeddings.patch_embedding.weight', 'head.attention.in_proj_weight']) {
    const folder = await temporaryDirectory();
    await cp(dualFolder('siglip'), folder, { recursive: true });
    const name = `vision_model.${tensor}`;
    const value = Uint8Array.from(NOT_FINITE.BF16.NaN);
    await patchTensor(join(folder, 'model.safetensors'), name, 0, value);
    await expect(build(await inspected(folder), 'fp32')).rejects.toThrow(
      `tensor "${name}" has a value of NaN`,
    );
  }
});
