/** Images as CLIP and SigLIP take them, against Transformers (scripts/references/dual_encoders.py). */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { runImageJob } from '../../src/front/images/image-job.ts';
import { ImageDecoder } from '../../src/images/decode.ts';
import { parseDualConfig } from '../../src/model/dual/dual-config.ts';
import { drawnCases } from '../support/drawn-images.ts';

const reference = z.object({
  size: z.record(z.string(), z.int()),
  crop: z.int().nullable(),
  resample: z.enum(['bilinear', 'bicubic']),
  sha256: z.string(),
});

test('200 drawn images become the bytes that the processors of Transformers make', async () => {
  const images = await drawnCases('dual-pixels.json', reference);
  expect(images).toHaveLength(200);
  const decoder = await ImageDecoder.load();
  for (const [index, { kind, file, expected }] of images.entries()) {
    const { size, crop, resample, sha256 } = expected;
    const imageSide = crop ?? size['width'];
    const config = {
      model_type: crop === null ? 'siglip' : 'clip',
      vision_config: { image_size: imageSide, patch_size: 5 },
    };
    const { preprocessing } = parseDualConfig({
      config: { json: config, origin: 'config.json' },
      images: {
        json: {
          size,
          ...(crop !== null && { crop_size: { width: crop, height: crop } }),
          resample: resample === 'bilinear' ? 2 : 3,
        },
        origin: 'preprocessor_config.json',
      },
      processor: { json: {}, origin: 'processor_config.json' },
    });
    const job = {
      file,
      preprocessing,
      datatype: 'UINT8',
      transparency: 'on white',
    } as const;
    const answer = await runImageJob(decoder, job);
    const hash = createHash('sha256');
    if (answer.type === 'done' && answer.result instanceof Uint8Array) hash.update(answer.result);
    expect({ index, kind, sha256: hash.digest('hex').slice(0, 16) }).toEqual({
      index,
      kind,
      sha256,
    });
  }
});
