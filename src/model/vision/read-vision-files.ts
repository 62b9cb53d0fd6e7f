import { join } from 'node:path';
import { z } from 'zod';
import { readJson } from '../huggingface/json-file.ts';
import type { ParsedFile, VisionFiles } from './vision-files.ts';

const PREPROCESSOR_FILE = 'preprocessor_config.json';
/** Since Transformers 5 with what the other one has, as `image_processor`. */
const PROCESSOR_FILE = 'processor_config.json';

const nestedSchema = z.looseObject({ image_processor: z.looseObject({}) });

/**
 * @param path of a folder with a config.json @param names of the files in it
 * @returns null for a folder that does not say how it wants its images
 * @throws {ModelError} if a file is damaged
 */
export async function readVisionFiles(
  path: string,
  names: readonly string[],
): Promise<VisionFiles | null> {
  const read = async (name: string): Promise<ParsedFile> => {
    const origin = join(path, name);
    return { json: names.includes(name) ? await readJson(origin) : {}, origin };
  };
  const config = await read('config.json');
  const processor = await read(PROCESSOR_FILE);
  const nested = nestedSchema.safeParse(processor.json).data?.image_processor;
  if (nested === undefined && !names.includes(PREPROCESSOR_FILE)) return null;
  const images =
    nested === undefined
      ? await read(PREPROCESSOR_FILE)
      : { json: nested, origin: processor.origin };
  return { config, images, processor };
}
