import { join } from 'node:path';
import { fileExists } from '../../files/file-exists.ts';
import { UserError } from '../../user-error.ts';
import type { ChosenModel } from '../../serving/models/model-source.ts';

/** Evaluation data that comes with a model. */
export const OWN_DATA = 'eval.jsonl';

/** @returns its path @throws UserError where a model comes without */
export async function ownData({ name, text: { folder } }: ChosenModel): Promise<string> {
  const path = join(folder ?? '.', OWN_DATA);
  if (folder !== null && (await fileExists(path))) return path;
  throw new UserError(`model ${name} has no ${OWN_DATA}: give --data`);
}
