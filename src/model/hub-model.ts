import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

import { parseDecoderConfig } from './config.ts';
import { ModelError } from './errors.ts';
import {
  type ExportFolder,
  type ExportVariant,
  exportVariants,
  filesOf,
  GENAI_CONFIG,
  parseExportConfig,
  readGenaiConfig,
} from './export-folder.ts';
import { downloadHubFile, type HubFileOptions } from './hub-file.ts';
import {
  type HubFile,
  type HubListing,
  type HubReference,
  listHubFiles,
} from './hub-repository.ts';
import { readJson } from './json-file.ts';
import { weightFiles } from './safetensors.ts';

/** What a decoder and its tokenizer are made of; other formats and weights are left on the hub. */
const CONFIG = 'config.json';
const TEXTS =
  /^(config|generation_config|genai_config|tokenizer|tokenizer_config|special_tokens_map|chat_template|model\.safetensors\.index)\.json$|^chat_template\.jinja$/;

/** Rejects when it is none of them, saying what there is. */
export type PickVariant = (choice: ExportFolder) => Promise<Pick<ExportVariant, 'file'>>;

export interface PullOptions extends Pick<HubFileOptions, 'access' | 'retryMs'> {
  readonly cacheDirectory: string;
  /** Called with bytes, those that were there before included. */
  readonly onProgress?: (done: number, total: number) => void;
  /** Which of an export's graphs to download, of those that the hub has. */
  readonly pickVariant: PickVariant;
  /** Called once if the hub can't be reached and an earlier download is taken. */
  readonly onOffline?: (reason: string) => void;
}

/**
 * Downloads a model, or finds it downloaded at the same commit.
 * @returns its folder
 * @throws {ModelError} when that is not possible, saying why
 */
export async function pullHubModel(reference: HubReference, options: PullOptions): Promise<string> {
  const { access, cacheDirectory, onOffline = () => {} } = options;
  const home = join(cacheDirectory, 'hub', reference.id.replace('/', '--'));
  const pointer = join(home, 'revisions', encodeURIComponent(reference.revision));
  let listing: HubListing;
  try {
    listing = await listHubFiles(reference, access);
  } catch (error) {
    if (error instanceof ModelError) throw error;
    const reason = `${access.endpoint} can not be reached`;
    const commit = await readFile(pointer, 'utf8').catch(() => null);
    if (commit === null) throw new ModelError(`${reason} for ${reference.id}`, { cause: error });
    onOffline(reason);
    return join(home, commit);
  }
  const folder = join(home, listing.commit);
  await mkdir(folder, { recursive: true });
  await download(reference, listing, folder, options);
  await mkdir(join(home, 'revisions'), { recursive: true });
  await writeFile(pointer, listing.commit);
  return folder;
}

async function download(
  { id }: HubReference,
  { commit, files }: HubListing,
  folder: string,
  { onProgress = () => {}, pickVariant, ...options }: PullOptions,
): Promise<void> {
  let total = 0;
  let done = 0;
  const fetchAll = async (wanted: readonly HubFile[]) => {
    total += wanted.reduce((sum, { size }) => sum + size, 0);
    for (const file of wanted) {
      const path = `/${id}/resolve/${commit}/${file.name}`;
      const target = join(folder, file.name);
      await mkdir(dirname(target), { recursive: true });
      await downloadHubFile(file, path, target, {
        ...options,
        onProgress: (bytes) => onProgress(done + bytes, total),
      });
      done += file.size;
    }
  };
  // A model that can't be served is told before its weights are downloaded.
  await fetchAll(files.filter(({ name }) => TEXTS.test(name)));
  await fetchAll(await filesWithWeights(id, files, folder, pickVariant));
}

/** What holds the weights: as published where a graph can be built of them, else those of an export. */
async function filesWithWeights(
  id: string,
  files: readonly HubFile[],
  folder: string,
  pickVariant: PickVariant,
): Promise<readonly HubFile[]> {
  const names = files.map(({ name }) => name);
  const weights = (await weightFiles(folder, names)).map((path) => basename(path));
  const hasWeights = names.includes(CONFIG) && weights.length > 0;
  const hasExport = exportVariants(names).length > 0 || names.includes(GENAI_CONFIG);
  if (hasWeights) {
    try {
      parseDecoderConfig(await readJson(join(folder, CONFIG)), id);
      const missing = weights.find((name) => !names.includes(name));
      if (missing !== undefined)
        throw new ModelError(`${id} has no ${missing}, which its index names`);
      return files.filter(({ name }) => weights.includes(name));
    } catch (error) {
      if (!(error instanceof ModelError) || !hasExport) throw error;
    }
  }
  if (hasExport) return exportFiles(id, files, folder, pickVariant);
  throw new ModelError(
    `${id} has no ${CONFIG} with safetensors weights and no ONNX export, only ` +
      names.slice(0, 8).join(', '),
  );
}

async function exportFiles(
  id: string,
  files: readonly HubFile[],
  folder: string,
  pickVariant: PickVariant,
): Promise<readonly HubFile[]> {
  const names = files.map(({ name }) => name);
  const sized = (wanted: readonly string[]) => files.filter(({ name }) => wanted.includes(name));
  if (names.includes(GENAI_CONFIG)) {
    const { decoder } = await readGenaiConfig(folder);
    return sized(filesOf(decoder.filename, names));
  }
  const variants = exportVariants(names).map((variant) => {
    const bytes = sized(filesOf(variant.file, names)).reduce((sum, { size }) => sum + size, 0);
    return { ...variant, bytes };
  });
  const config = parseExportConfig(await readJson(join(folder, CONFIG)), id);
  const picked = await pickVariant({ kind: 'export', path: id, config, variants });
  return sized(filesOf(picked.file, names));
}
