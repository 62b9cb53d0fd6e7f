import { basename, join } from 'node:path';

import { joinUntrusted } from '../../files/untrusted-path.ts';
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
import { ggufParts, pickMmproj } from '../gguf/gguf-names.ts';
import { readJson } from '../huggingface/json-file.ts';
import { weightFiles } from '../huggingface/safetensors.ts';
import { hubGguf } from './hub-gguf.ts';
import {
  cachedFiles,
  type Download,
  filesNamed,
  type HubPullOptions,
  namesOf,
  type PulledFiles,
  pullFiles,
  requireReadable,
  totalBytes,
} from './hub-pull.ts';
import type { HubAccess, HubFile, HubListing, HubReference } from './hub-repository.ts';
import { downloadFiles } from './hub-snapshot.ts';

/** The files of a decoder, its tokenizer and its images; other formats and weights are not downloaded. */
const CONFIG = 'config.json';
const TEXTS =
  /^(config|generation_config|genai_config|tokenizer|tokenizer_config|special_tokens_map|chat_template|preprocessor_config|processor_config|model\.safetensors\.index)\.json$|^chat_template\.jinja$/;

/** Rejects when the hub has none that fits, saying what there is. */
export type PickVariant = (choice: ExportFolder) => Promise<Pick<ExportVariant, 'file'>>;

export interface PullOptions extends HubPullOptions {
  /** Which of an export's graphs to download, of those that the hub has. */
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
export async function pullHubModel(reference: HubReference, options: PullOptions): Promise<string> {
  const pulled = await pullFiles(reference, options, (download) =>
    downloadModel(reference, download, options),
  );
  return servedPath(pulled, reference);
}

/** Where a model lies that was downloaded, of a GGUF model the file; null if it was not. */
export async function cachedFolder(
  reference: HubReference,
  cacheDirectory: string,
): Promise<string | null> {
  const cached = await cachedFiles(reference, cacheDirectory);
  return cached && servedPath(cached, reference);
}

/**
 * Downloads config.json alone.
 * @param folder that it goes to
 * @throws {ModelError} when there is none, or it can't be had
 */
export async function pullConfig(
  { id }: HubReference,
  { commit, files }: HubListing,
  access: HubAccess,
  folder: string,
): Promise<void> {
  const configs = filesNamed([CONFIG], files);
  if (configs.length === 0) throw new ModelError(`${id} has no ${CONFIG}`);
  requireReadable(configs, id);
  await downloadFiles({ id, commit, folder }, configs, { access });
}

function servedPath({ folder, names }: PulledFiles, reference: HubReference): string {
  const file = hubGguf(names, reference);
  return file === null ? folder : joinUntrusted(folder, file, reference.id);
}

async function downloadModel(
  reference: HubReference,
  { files, folder, fetchAll }: Download,
  { pickVariant, wantsMmproj }: PullOptions,
): Promise<void> {
  const { id } = reference;
  // A model that can't be served is rejected before its weights are downloaded.
  const texts = files.filter(({ name }) => TEXTS.test(name));
  requireReadable(texts, id);
  await fetchAll(texts);
  const names = namesOf(files);
  const gguf = hubGguf(names, reference);
  if (gguf !== null) {
    await fetchAll(filesNamed(ggufParts(gguf), files));
    const mmproj = pickMmproj(names, gguf);
    const isWanted = mmproj !== null && (await wantsMmproj?.(joinUntrusted(folder, gguf, id)));
    return isWanted ? fetchAll(filesNamed([mmproj], files)) : undefined;
  }
  await fetchAll(await filesWithWeights({ id, files, folder }, pickVariant));
}

/** A model on the hub whose small files are downloaded. */
interface HubModel {
  readonly id: string;
  readonly files: readonly HubFile[];
  /** Where they are. */
  readonly folder: string;
}

/**
 * The files with the weights: safetensors if a graph can be built from them, otherwise those of an
 * export.
 */
async function filesWithWeights(
  model: HubModel,
  pickVariant: PickVariant,
): Promise<readonly HubFile[]> {
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
      return filesNamed(weights, files);
    } catch (error) {
      if (!(error instanceof ModelError) || !hasExport) throw error;
    }
  }
  if (hasExport) return exportFiles(model, pickVariant);
  throw new ModelError(
    `${id} has no ${CONFIG} with safetensors weights, no ONNX export and no GGUF file, only ` +
      names.slice(0, 8).join(', '),
  );
}

async function exportFiles(
  { id, files, folder }: HubModel,
  pickVariant: PickVariant,
): Promise<readonly HubFile[]> {
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
