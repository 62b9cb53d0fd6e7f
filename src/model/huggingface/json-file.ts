import { readBounded } from '../../files/read-bounded.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { ModelError } from '../model-error.ts';

/**
 * Reads a JSON file of a model.
 * @throws {ModelError} if it cannot be read or is not JSON
 */
export async function readJson(path: string): Promise<unknown> {
  let text: string;
  try {
    text = (await readBounded(path, MODEL_LIMITS.textFileBytes)).toString();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ModelError(`${path} cannot be read: ${reason}`, { cause: error });
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new ModelError(`${path} is not valid JSON`, { cause: error });
  }
}
