import { readFile } from 'node:fs/promises';

import { ModelError } from './errors.ts';

/**
 * Reads a JSON file of a model.
 * @throws {ModelError} if it cannot be read or is not JSON
 */
export async function readJson(path: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    throw new ModelError(`${path} cannot be read`, { cause: error });
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ModelError(`${path} is not valid JSON`, { cause: error });
  }
}
