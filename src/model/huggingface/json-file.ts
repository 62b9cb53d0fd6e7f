import { parsePythonJson } from '../../files/python-json.ts';
import { standIn, START_BYTES } from '../../files/stand-in.ts';
import { readBounded } from '../../files/read-bounded.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { ModelError } from '../model-error.ts';
import { meaningOf } from '../../files/system-error.ts';

/**
 * Reads a JSON file of a model.
 * @throws {ModelError} if it cannot be read or is not JSON
 */
export async function readJson(path: string): Promise<unknown> {
  let text: string;
  try {
    text = (await readBounded(path, MODEL_LIMITS.textFileBytes)).toString();
  } catch (error) {
    throw new ModelError(`${path} cannot be read: ${meaningOf(error)}`, { cause: error });
  }
  try {
    return parsePythonJson(text);
  } catch (error) {
    const what = standIn(Buffer.from(text.slice(0, START_BYTES))) ?? 'is not valid JSON';
    throw new ModelError(`${path} ${what}`, { cause: error });
  }
}
