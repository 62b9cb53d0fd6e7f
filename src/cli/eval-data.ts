import { join } from 'node:path';
import { fileExists } from '../model/build/file-exists.ts';
import type { ChosenModel } from './model-source.ts';
import { UsageError } from './usage-error.ts';

/** Evaluation data that comes with a model. */
export const OWN_DATA = 'eval.jsonl';

/** @returns its path @throws UsageError where a model comes without */
export async function ownData({ name, text: { folder } }: ChosenModel): Promise<string> {
  const path = join(folder ?? '.', OWN_DATA);
  if (folder !== null && (await fileExists(path))) return path;
  throw new UsageError(`model ${name} comes with no ${OWN_DATA}: give --data`);
}
