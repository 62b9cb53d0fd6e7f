/** Models in folders of a repository. */
import { dirname } from 'node:path';

import { joinUntrusted } from '../../files/untrusted-path.ts';
import type { PickVariant } from '../export/export-folder.ts';
import {
  byKey,
  genaiFolders,
  isServedFolder,
  list,
  pickGenaiFolder,
} from '../export/genai-folders.ts';
import { told } from '../../told.ts';
import { ggufModels, isGguf } from '../gguf/gguf-names.ts';
import { ModelError } from '../model-error.ts';
import type { Remote, RemoteFile } from './remote.ts';
import type { Download } from './pull-files.ts';

/** A folder of a repository, as a remote of its own. */
interface InFolder {
  readonly remote: Remote;
  /** Empty for the repository as a whole. */
  readonly base: string;
}

/**
 * Finds out which folder has the model: the one that is named, or one below it; where nobody names anything and
 * the repository itself has no model, one of ONNX Runtime GenAI's exports in folders of it.
 * @param names of all its files
 * @throws {ModelError} if there is no such folder, or several that fit
 */
export async function inFolder(
  remote: Remote,
  names: readonly string[],
  pick?: PickVariant,
): Promise<InFolder> {
  const { file, id } = remote;
  if (file !== null && (isGguf(file) || (!file.includes('/') && !isServed(below(names, file)))))
    return { remote, base: '' };
  const named = (file ?? '').replace(/\/$/, '');
  const inside = named === '' ? names : below(names, named);
  const whole = { remote: { ...remote, file: null }, base: named };
  if (isServedFolder(inside) || (named !== '' && ggufModels(inside).length > 0)) return whole;
  const folders = ggufModels(inside).length > 0 ? [] : genaiFolders(inside);
  if (folders.length === 0) {
    if (named === '') return { remote, base: '' };
    throw new ModelError(`${id} has no model in a folder ${told(named, 200)}${listed(names)}`);
  }
  const paths = folders.map((folder) => (named === '' ? folder : `${named}/${folder}`));
  const base = await pickGenaiFolder(paths, id, (folder) => remote.nameOf(folder), pick);
  return { remote: whole.remote, base };
}

/** Describes the folders that have models which nobody named, as the rest of a sentence; null without any. */
export function describeFolders(remote: Remote, names: readonly string[]): string | null {
  const [first, ...others] = modelFolders(names);
  if (first === undefined) return null;
  return `has models in folders of it (${list([first, ...others])}): name one, as ${list([remote.nameOf(first)])}`;
}

/**
 * A download of a folder alone: files are named as if there were nothing else.
 * @throws {UntrustedPathError} if it leads out of the repository
 */
export function downloadOf(
  { files, folder, fetchAll }: Download,
  base: string,
  id: string,
): Download {
  if (base === '') return { files, folder, fetchAll };
  const whole = new Map<RemoteFile, RemoteFile>();
  for (const file of files) {
    if (!file.name.startsWith(`${base}/`)) continue;
    whole.set({ ...file, name: file.name.slice(base.length + 1) }, file);
  }
  return {
    files: [...whole.keys()],
    folder: joinUntrusted(folder, base, id),
    fetchAll: (wanted) => fetchAll(wanted.flatMap((file) => whole.get(file) ?? [])),
  };
}

/** Names of the files in a folder, relative to it. */
export function below(names: readonly string[], folder: string): string[] {
  if (folder === '') return [...names];
  return names.flatMap((name) =>
    name.startsWith(`${folder}/`) ? [name.slice(folder.length + 1)] : [],
  );
}

function isServed(names: readonly string[]): boolean {
  return isServedFolder(names) || genaiFolders(names).length > 0;
}

function modelFolders(names: readonly string[]): string[] {
  const groups = byKey(names, dirname);
  const filesOf = (folder: string) => groups.get(folder) ?? [];
  return [...groups.keys()]
    .filter((folder) => {
      const files = [...filesOf(folder), ...filesOf(`${folder}/onnx`)];
      return folder !== '.' && isServedFolder(below(files, folder));
    })
    .sort();
}

function listed(names: readonly string[]): string {
  const folders = modelFolders(names);
  return folders.length === 0 ? '' : `, only in ${list(folders)}`;
}
