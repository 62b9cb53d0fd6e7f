import { expect, test } from 'vitest';
import { explainZod } from '../../../src/explain-zod.ts';
import {
  imageConfigSchema,
  inputSizeOf,
  preprocessingOf,
} from '../../../src/front/images/image-config.ts';

test('the fields of preprocessor_config.json', () => {
  const config = imageConfigSchema.parse({
    size: { shortest_edge: 256 },
    resample: 3,
    crop_size: 224,
    image_mean: [0.5, 0.5, 0.5],
  });
  expect(inputSizeOf(config)).toEqual({ width: 224, height: 224 });
  expect(preprocessingOf(config)).toEqual({
    resize: 256,
    resample: 'bicubic',
    crop: { width: 224, height: 224 },
    rescale: 1 / 255,
    mean: [0.5, 0.5, 0.5],
    std: [1, 1, 1],
    channels: 'rgb',
    layout: 'NCHW',
  });
  const exact = imageConfigSchema.parse({ size: { height: 7, width: 9 } });
  expect(inputSizeOf(exact)).toEqual({ width: 9, height: 7 });
  expect(preprocessingOf(exact)).toMatchObject({ resize: { width: 9, height: 7 }, crop: null });
});

test.each([
  [{}, 'a crop_size, or a size'],
  [{ size: { shortest_edge: 224 } }, 'a crop_size, or a size'],
  [{ size: 224 }, 'size'],
  [{ crop_size: 0 }, 'crop_size'],
  [{ crop_size: 4096 }, 'crop_size'],
  [{ crop_size: 8, resample: 9 }, 'resample'],
  [{ crop_size: 8, image_std: [1, 0, 1] }, 'above 0'],
  [{ crop_size: 8, image_mean: [1] }, 'image_mean'],
  [{ crop_size: 8, do_resize: true }, 'do_resize'],
])('%j is refused', (config, reason) => {
  const { error } = imageConfigSchema.safeParse(config);
  expect(error && explainZod(error)).toContain(reason);
});
