import { basename, join } from 'node:path';

import { requireTokenizer, TOKENIZER_FILES } from '../tokenizer/made-text-folder.ts';
import { joinUntrusted } from '../../files/untrusted-path.ts';
import { told } from '../../told.ts';
import { parseDecoderConfig } from '../huggingface/config.ts';
import { ModelError } from '../model-error.ts';
import {
  exportVariants,
  filesOf,
  GENAI_CONFIG,
  parseExportConfig,
  type PickVariant,
  readGenaiConfig,
} from '../export/export-folder.ts';
import { genaiFolders } from '../export/genai-folders.ts';
import { describeGraphs } from '../export/unserved-export.ts';
import { ggufParts, pickMmproj } from '../gguf/gguf-names.ts';
import { readJson } from '../huggingface/json-file.ts';
import { weightFiles } from '../huggingface/safetensors.ts';
import { below, describeFolders, downloadOf, inFolder } from './remote-folder.ts';
import { remoteGguf } from './remote-gguf.ts';
import {
  cachedFiles,
  type Download,
  filesNamed,
  type PullFilesOptions,
  namesOf,
  type PulledFiles,
  pullFiles,
  requireReadable,
  totalBytes,
} from './pull-files.ts';
import type { Remote, RemoteFile, RemoteListing } from './remote.ts';
import { downloadFiles } from './snapshot.ts';

/** The files of a decoder, its tokenizer and its images; other formats and weights are not downloaded. */
const CONFIG = 'config.json';
const TEXTS =
  /^(config|hf_quant_config|generation_config|genai_config|tokenizer|tokenizer_config|special_tokens_map|chat_template|preprocessor_config|processor_config|model\.safetensors\.index)\.json$|^chat_template\.jinja$/;

export interface PullOptions extends PullFilesOptions {
  /** Which of an export's graphs to download, of those that there are. */
  readonly pickVariant: PickVariant;
  /**
   * Whether the file with the part that sees is downloaded too, of a GGUF model that has one beside it.
   * None is if left out.
   */
  readonly wantsMmproj?: (model: string) => Promise<boolean>;
}

/**
 * Downloads a model, or finds it downloaded at the same commit.
 * @returns its folder; of a GGUF model the file
 * @throws {ModelError} when that is not possible, saying why
 */
export async function pullModel(remote: Remote, options: PullOptions): Promise<string> {
  const pulled = await pullFiles(remote, options, async (download) => {
    const found = await inFolder(remote, namesOf(download.files), options.pickVariant);
    await downloadModel(found.remote, downloadOf(download, found.base, remote.id), options);
  });
  return servedPath(pulled, remote, options.pickVariant);
}

/**
 * Where a model lies that was downloaded, of a GGUF model the file; null if it was not, or not what is named.
 * The export for a CPU, where there are others for other devices.
 */
export async function cachedFolder(remote: Remote, cacheDirectory: string): Promise<string | null> {
  const cached = await cachedFiles(remote, cacheDirectory);
  if (cached === null) return null;
  try {
    return await servedPath(cached, remote);
  } catch (error) {
    if (error instanceof ModelError && remote.file !== null) return null;
    throw error;
  }
}

/**
 * Where the files lie of a model that was downloaded, of whose exports for several devices one is picked later.
 * @returns as cachedFolder; the folder of all where nobody named one
 */
export async function cachedExports(
  remote: Remote,
  cacheDirectory: string,
): Promise<string | null> {
  const cached = await cachedFiles(remote, cacheDirectory);
  const isPicked = remote.file === null && cached !== null && genaiFolders(cached.names).length > 1;
  return isPicked ? cached.folder : cachedFolder(remote, cacheDirectory);
}

/**
 * Downloads config.json alone.
 * @param target folder that it goes to
 * @returns the folder that it is in
 * @throws {ModelError} when there is none, or it can't be had
 */
export async function pullConfig(
  remote: Remote,
  { commit, files }: RemoteListing,
  target: string,
): Promise<string> {
  const { id } = remote;
  const { base } = await inFolder(remote, namesOf(files));
  const fetchAll = (wanted: readonly RemoteFile[]) =>
    downloadFiles({ remote, commit, folder: target }, wanted, {});
  const download = downloadOf({ files, folder: target, fetchAll }, base, id);
  const configs = filesNamed([CONFIG], download.files);
  if (configs.length === 0) throw new ModelError(`${id} has no ${CONFIG}`);
  requireReadable(configs, id);
  await download.fetchAll(configs);
  return download.folder;
}

async function servedPath(
  { folder, names }: PulledFiles,
  remote: Remote,
  pickVariant?: PickVariant,
): Promise<string> {
  const found = await inFolder(remote, names, pickVariant);
  const base = found.base === '' ? folder : joinUntrusted(folder, found.base, remote.id);
  const file = remoteGguf(below(names, found.base), found.remote);
  return file === null ? base : joinUntrusted(base, file, remote.id);
}

async function downloadModel(
  remote: Remote,
  { files, folder, fetchAll }: Download,
  { cacheDirectory, pickVariant, wantsMmproj }: PullOptions,
): Promise<void> {
  const { id } = remote;
  // A model that can't be served is rejected before its weights are downloaded.
  const isMade = !files.some(({ name }) => name === 'tokenizer.json');
  const isText = (name: string) => TEXTS.test(name) || (isMade && TOKENIZER_FILES.has(name));
  const texts = files.filter(({ name }) => isText(name));
  requireReadable(texts, id);
  await fetchAll(texts);
  const names = namesOf(files);
  const gguf = remoteGguf(names, remote);
  if (gguf !== null) {
    await fetchAll(filesNamed(ggufParts(gguf), files));
    const mmproj = pickMmproj(names, gguf);
    const isWanted = mmproj !== null && (await wantsMmproj?.(joinUntrusted(folder, gguf, id)));
    return isWanted ? fetchAll(filesNamed([mmproj], files)) : undefined;
  }
  await fetchAll(await filesWithWeights({ remote, files, folder, cacheDirectory }, pickVariant));
}

/** A model whose small files are downloaded. */
interface BegunModel {
  readonly remote: Remote;
  readonly files: readonly RemoteFile[];
  /** Where they are. */
  readonly folder: string;
  readonly cacheDirectory: string;
}

/**
 * The files with the weights: safetensors if a graph can be built from them, otherwise those of an
 * export.
 */
async function filesWithWeights(
  model: BegunModel,
  pickVariant: PickVariant,
): Promise<readonly RemoteFile[]> {
  const { remote, files, folder, cacheDirectory } = model;
  const { id } = remote;
  const names = namesOf(files);
  const weights = (await weightFiles(folder, names)).map((path) => basename(path));
  const hasWeights = names.includes(CONFIG) && weights.length > 0;
  const hasExport = exportVariants(names).length > 0 || names.includes(GENAI_CONFIG);
  if (hasWeights) {
    try {
      parseDecoderConfig(await readJson(join(folder, CONFIG)), id);
      const missing = weights.find((name) => !names.includes(name));
      if (missing !== undefined)
        throw new ModelError(`${id} has no ${missing}, which its index names`);
      await requireTokenizer(folder, cacheDirectory);
      return filesNamed(weights, files);
    } catch (error) {
      if (!(error instanceof ModelError) || !hasExport) throw error;
    }
  }
  if (hasExport) return exportFiles(model, pickVariant);
  const unserved =
    weights.length > 0 ? null : (describeFolders(remote, names) ?? describeGraphs(names));
  if (unserved !== null) throw new ModelError(`${id} ${unserved}`);
  const others = names.slice(0, 8).map((name) => told(name, 100));
  throw new ModelError(
    `${id} has no ${CONFIG} with safetensors weights, no ONNX export and no GGUF file, only ` +
      others.join(', '),
  );
}

async function exportFiles(
  { remote, files, folder }: BegunModel,
  pickVariant: PickVariant,
): Promise<readonly RemoteFile[]> {
  const { id } = remote;
  const names = namesOf(files);
  const partsOf = (file: string) => filesNamed(filesOf(file, names), files);
  if (names.includes(GENAI_CONFIG)) {
    const { decoder } = await readGenaiConfig(folder);
    return partsOf(decoder.filename);
  }
  const variants = exportVariants(names).map((variant) => {
    return { ...variant, bytes: totalBytes(partsOf(variant.file)) };
  });
  const config = parseExportConfig(await readJson(join(folder, CONFIG)), id);
  const picked = await pickVariant({ path: id, config, variants });
  return partsOf(picked.file);
}
