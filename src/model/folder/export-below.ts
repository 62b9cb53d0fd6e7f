import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import type { PickVariant } from '../export/export-folder.ts';
import {
  genaiFilesBelow,
  genaiFolders,
  isServedFolder,
  pickGenaiFolder,
} from '../export/genai-folders.ts';
import { ggufModels } from '../gguf/gguf-names.ts';

/**
 * Picks the export of ONNX Runtime GenAI's in a folder below one that has no model itself, as of a repository.
 * @returns its path; null if there is none, or a model in the folder itself
 * @throws {ModelError} if there are several that fit
 */
export async function exportBelow(folder: string, pick?: PickVariant): Promise<string | null> {
  const names = await readdir(folder).catch((): string[] => []);
  const inside = names.includes('onnx') ? await readdir(join(folder, 'onnx')).catch(() => []) : [];
  const all = [...names, ...inside.map((name) => `onnx/${name}`)];
  if (isServedFolder(all) || ggufModels(names).length > 0) return null;
  const folders = genaiFolders(await genaiFilesBelow(folder));
  if (folders.length === 0) return null;
  return join(folder, await pickGenaiFolder(folders, folder, (each) => join(folder, each), pick));
}
