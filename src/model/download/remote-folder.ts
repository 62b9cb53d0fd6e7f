import { dirname } from 'node:path/posix';

import { joinUntrusted } from '../../files/untrusted-path.ts';
import { told } from '../../told.ts';
import { exportVariants, GENAI_CONFIG } from '../export/export-folder.ts';
import { ggufModels } from '../gguf/gguf-names.ts';
import { SHARD_INDEX, SINGLE_FILE } from '../huggingface/safetensors.ts';
import { ModelError } from '../model-error.ts';
import type { Download } from './pull-files.ts';
import type { Remote } from './remote.ts';

/** Folders listed in an error. */
const MAX_LISTED = 16;
/** Of several for a CPU: 4-bit products whose activations are rounded to 8 bits, as our own kernels'. */
const PREFERRED = /acc-level-4/;

/**
 * Which folder of a repository is the model, where that has none at its top but exports of ONNX Runtime GenAI's
 * model builder in folders, as Microsoft's have: one that is named, else the one for CPUs.
 * @param names of the repository's files
 * @returns null for the top
 * @throws {ModelError} if several would do, or none of that name
 */
export function remoteFolder(names: readonly string[], { id, file }: Remote): string | null {
  const folders = names
    .filter((name) => name.endsWith(`/${GENAI_CONFIG}`))
    .map((name) => dirname(name));
  const wanted = file?.replace(/\/+$/, '') ?? null;
  if (wanted !== null && folders.includes(wanted)) return wanted;
  const hasWeights = [GENAI_CONFIG, SINGLE_FILE, SHARD_INDEX].some((name) => names.includes(name));
  const isAtTop = hasWeights || exportVariants(names).length > 0 || ggufModels(names).length > 0;
  if (isAtTop || folders.length === 0) return null;
  const fitting =
    wanted === null ? forCpu(folders) : folders.filter((name) => name.startsWith(`${wanted}/`));
  const [first] = fitting;
  if (first !== undefined && fitting.length === 1) return first;
  const several = folders.slice(0, MAX_LISTED).map((name) => told(name, 100));
  const which = wanted === null ? '' : `${fitting.length ? 'several of' : 'none of'} "${wanted}": `;
  throw new ModelError(
    `${id} has models in folders, ${which}name one of them, as hf:${id}:FOLDER ` +
      `(it has ${several.join(', ')}${folders.length > MAX_LISTED ? ', ...' : ''})`,
  );
}

function forCpu(folders: readonly string[]): readonly string[] {
  if (folders.length === 1) return folders;
  const cpu = folders.filter((name) => /cpu/i.test(name));
  const preferred = cpu.filter((name) => PREFERRED.test(name));
  return preferred.length === 1 ? preferred : cpu;
}

/**
 * A download of one folder of a repository, whose files are called as they are in it.
 * @throws {UntrustedPathError} for a folder that leads elsewhere
 */
export function downloadWithin(inside: string, download: Download, id: string): Download {
  const prefix = `${inside}/`;
  return {
    files: download.files
      .filter(({ name }) => name.startsWith(prefix))
      .map((file) => ({ ...file, name: file.name.slice(prefix.length) })),
    folder: joinUntrusted(download.folder, inside, id),
    fetchAll: (wanted) =>
      download.fetchAll(wanted.map((file) => ({ ...file, name: prefix + file.name }))),
  };
}
