import { basename, join } from 'node:path';

import { joinUntrusted } from '../../files/untrusted-path.ts';
import { told } from '../../told.ts';
import { parseDecoderConfig } from '../huggingface/config.ts';
import { ModelError } from '../model-error.ts';
import {
  type ExportFolder,
  type ExportVariant,
  exportVariants,
  filesOf,
  GENAI_CONFIG,
  parseExportConfig,
  readGenaiConfig,
} from '../export/export-folder.ts';
import { describeGraphs } from '../export/unserved-export.ts';
import { ggufParts, pickMmproj } from '../gguf/gguf-names.ts';
import { readJson } from '../huggingface/json-file.ts';
import { weightFiles } from '../huggingface/safetensors.ts';
import { requireTokenizer, TOKENIZER_FILES } from '../tokenizer/made-text-folder.ts';
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
  /^(config|generation_config|genai_config|tokenizer|tokenizer_config|special_tokens_map|chat_template|preprocessor_config|processor_config|model\.safetensors\.index)\.json$|^chat_template\.jinja$/;

/** Rejects when there is none that fits, saying what there is. */
export type PickVariant = (choice: ExportFolder) => Promise<Pick<ExportVariant, 'file'>>;

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
  const pulled = await pullFiles(remote, options, (download) =>
    downloadModel(remote, download, options),
  );
  return servedPath(pulled, remote);
}

/** Where a model lies that was downloaded, of a GGUF model the file; null if it was not. */
export async function cachedFolder(remote: Remote, cacheDirectory: string): Promise<string | null> {
  const cached = await cachedFiles(remote, cacheDirectory);
  return cached && servedPath(cached, remote);
}

/**
 * Downloads config.json alone.
 * @param folder that it goes to
 * @throws {ModelError} when there is none, or it can't be had
 */
export async function pullConfig(
  remote: Remote,
  { commit, files }: RemoteListing,
  folder: string,
): Promise<void> {
  const { id } = remote;
  const configs = filesNamed([CONFIG], files);
  if (configs.length === 0) throw new ModelError(`${id} has no ${CONFIG}`);
  requireReadable(configs, id);
  await downloadFiles({ remote, commit, folder }, configs, {});
}

function servedPath({ folder, names }: PulledFiles, remote: Remote): string {
  const file = remoteGguf(names, remote);
  return file === null ? folder : joinUntrusted(folder, file, remote.id);
}

async function downloadModel(
  remote: Remote,
  { files, folder, fetchAll }: Download,
  { pickVariant, wantsMmproj }: PullOptions,
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
  await fetchAll(await filesWithWeights({ id, files, folder }, pickVariant));
}

/** A model whose small files are downloaded. */
interface BegunModel {
  readonly id: string;
  readonly files: readonly RemoteFile[];
  /** Where they are. */
  readonly folder: string;
}

/**
 * The files with the weights: safetensors if a graph can be built from them, otherwise those of an
 * export.
 */
async function filesWithWeights(
  model: BegunModel,
  pickVariant: PickVariant,
): Promise<readonly RemoteFile[]> {
  const { id, files, folder } = model;
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
      await requireTokenizer(folder);
      return filesNamed(weights, files);
    } catch (error) {
      if (!(error instanceof ModelError) || !hasExport) throw error;
    }
  }
  if (hasExport) return exportFiles(model, pickVariant);
  const unserved = weights.length > 0 ? null : describeGraphs(names);
  if (unserved !== null) throw new ModelError(`${id} ${unserved}`);
  const others = names.slice(0, 8).map((name) => told(name, 100));
  throw new ModelError(
    `${id} has no ${CONFIG} with safetensors weights, no ONNX export and no GGUF file, only ` +
      others.join(', '),
  );
}

async function exportFiles(
  { id, files, folder }: BegunModel,
  pickVariant: PickVariant,
): Promise<readonly RemoteFile[]> {
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
  const picked = await pickVariant({ kind: 'export', path: id, config, variants });
  return partsOf(picked.file);
}
