/** Files of a folder that say how its model sees, and what all families have in them. */
import { z } from 'zod';

import { explainZod } from '../../explain-zod.ts';
import { RESAMPLES, type Resample } from '../../images/resize.ts';
import { ModelError } from '../model-error.ts';

/** A parsed file, and what to call it in errors. */
export interface ParsedFile {
  readonly json: unknown;
  readonly origin: string;
}

export interface VisionFiles {
  readonly config: ParsedFile;
  /** How images are prepared. */
  readonly images: ParsedFile;
  readonly processor: ParsedFile;
}

/** From bytes to a tower's numbers: a number of a channel is (byte * rescale - mean) / std. */
export interface Normalization {
  readonly rescale: number;
  readonly mean: readonly number[];
  readonly std: readonly number[];
}

/** @param usual mean and deviation of the family's images, where a file does not say them */
export function normalizationFields(usual: { readonly mean: number[]; readonly std: number[] }) {
  const perChannel = z.array(z.number()).length(3);
  return {
    do_rescale: z.boolean().default(true),
    do_normalize: z.boolean().default(true),
    rescale_factor: z
      .number()
      .positive()
      .default(1 / 255),
    image_mean: perChannel.default(usual.mean),
    image_std: perChannel.default(usual.std).refine((all) => all.every((each) => each > 0), {
      error: 'expected numbers above 0',
    }),
  };
}

export type NormalizationFields = z.output<z.ZodObject<ReturnType<typeof normalizationFields>>>;

export function normalizationOf(images: NormalizationFields): Normalization {
  return {
    rescale: images.do_rescale ? images.rescale_factor : 1,
    mean: images.do_normalize ? images.image_mean : [0, 0, 0],
    std: images.do_normalize ? images.image_std : [1, 1, 1],
  };
}

/** By Pillow's numbers. */
export function resampleField(usual: Resample) {
  return z
    .int()
    .min(0)
    .max(RESAMPLES.length - 2)
    .default(RESAMPLES.indexOf(usual))
    .transform((number) => RESAMPLES[number] ?? usual);
}

/** @throws {ModelError} naming the file, and what in it is wrong */
export function checked<T>({ json, origin }: ParsedFile, schema: z.ZodType<T>): T {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new ModelError(`${origin} is not of a model that can see: ${explainZod(parsed.error)}`);
}
