import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';

import { joinUntrusted } from '../../files/untrusted-path.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { writingToCache } from '../build/cache-error.ts';
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
import { ggufParts } from '../gguf/gguf-names.ts';
import type { HubFileOptions } from './hub-file.ts';
import { hubGguf } from './hub-gguf.ts';
import {
  COMMIT,
  type HubFile,
  type HubListing,
  type HubReference,
  listHubFiles,
} from './hub-repository.ts';
import { downloadFiles, type Snapshot } from './hub-snapshot.ts';
import { readJson } from '../huggingface/json-file.ts';
import { weightFiles } from '../huggingface/safetensors.ts';

/** The files of a decoder and its tokenizer; other formats and weights are not downloaded. */
const CONFIG = 'config.json';
const TEXTS =
  /^(config|generation_config|genai_config|tokenizer|tokenizer_config|special_tokens_map|chat_template|model\.safetensors\.index)\.json$|^chat_template\.jinja$/;

/** Rejects when the hub has none that fits, saying what there is. */
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
 * @returns its folder; of a GGUF model the file
 * @throws {ModelError} when that is not possible, saying why
 */
export async function pullHubModel(reference: HubReference, options: PullOptions): Promise<string> {
  const { access, cacheDirectory, onOffline = () => {} } = options;
  const home = hubHome(reference.id, cacheDirectory);
  const pointer = pointerOf(reference, home);
  let listing: HubListing;
  try {
    listing = await listHubFiles(reference, access);
  } catch (error) {
    if (error instanceof ModelError) throw error;
    const reason = `${access.endpoint} can not be reached`;
    const commit = await readPointer(pointer);
    if (commit === null) {
      const why = error instanceof Error ? error.message : String(error);
      throw new ModelError(`${reason} for ${reference.id}: ${why}`, { cause: error });
    }
    onOffline(reason);
    const folder = join(home, commit);
    return servedPath(folder, await filesIn(folder), reference);
  }
  const folder = join(home, listing.commit);
  await writingToCache(cacheDirectory, `the model ${reference.id}`, async () => {
    await mkdir(folder, { recursive: true });
    await download({ ...reference, commit: listing.commit, folder }, listing.files, options);
    // A cache that has it all may be read only.
    if ((await readPointer(pointer)) === listing.commit) return;
    await mkdir(dirname(pointer), { recursive: true });
    await writeFile(pointer, listing.commit);
  });
  return servedPath(folder, namesOf(listing.files), reference);
}

function servedPath(folder: string, names: readonly string[], reference: HubReference): string {
  const file = hubGguf(names, reference);
  return file === null ? folder : joinUntrusted(folder, file, reference.id);
}

/** Paths relative to a folder, with slashes. */
async function filesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  return names.map((name) => name.replaceAll(sep, '/'));
}

/** Where all commits of a model are kept. */
export function hubHome(id: string, cacheDirectory: string): string {
  return join(cacheDirectory, 'hub', id.replace('/', '--'));
}

/** Where a model lies that was downloaded, of a GGUF model the file; null if it was not. */
export async function cachedFolder(
  reference: HubReference,
  cacheDirectory: string,
): Promise<string | null> {
  const home = hubHome(reference.id, cacheDirectory);
  const commit = await readPointer(pointerOf(reference, home));
  if (commit === null) return null;
  const folder = join(home, commit);
  return servedPath(folder, await filesIn(folder), reference);
}

function pointerOf({ id, revision }: HubReference, home: string): string {
  return joinUntrusted(join(home, 'revisions'), encodeURIComponent(revision), id);
}

/** Which commit a revision was when it was downloaded; null if it was not. */
async function readPointer(path: string): Promise<string | null> {
  const commit = await readFile(path, 'utf8').catch(() => '');
  return COMMIT.test(commit) ? commit : null;
}

async function download(
  snapshot: Snapshot & HubReference,
  files: readonly HubFile[],
  { onProgress = () => {}, pickVariant, access, retryMs }: PullOptions,
): Promise<void> {
  const { folder, ...reference } = snapshot;
  const { id } = reference;
  let total = 0;
  let done = 0;
  const fetchAll = async (wanted: readonly HubFile[]) => {
    total += totalBytes(wanted);
    await downloadFiles(snapshot, wanted, {
      access,
      ...(retryMs !== undefined && { retryMs }),
      onProgress: (bytes) => onProgress(done + bytes, total),
    });
    done = total;
  };
  // A model that can't be served is rejected before its weights are downloaded.
  const texts = files.filter(({ name }) => TEXTS.test(name));
  const tooLong = texts.find(({ size }) => size > MODEL_LIMITS.textFileBytes);
  if (tooLong) {
    const { name, size } = tooLong;
    throw new ModelError(
      `${name} of ${id} has ${size} bytes, more than ${MODEL_LIMITS.textFileBytes}`,
    );
  }
  await fetchAll(texts);
  const names = namesOf(files);
  const gguf = hubGguf(names, reference);
  if (gguf !== null) return fetchAll(filesNamed(ggufParts(gguf), files));
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
 * The files with the weights: safetensors if a graph can be built from them, else those of an
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

function namesOf(files: readonly HubFile[]): string[] {
  return files.map(({ name }) => name);
}

function filesNamed(names: readonly string[], files: readonly HubFile[]): HubFile[] {
  return files.filter(({ name }) => names.includes(name));
}

function totalBytes(files: readonly HubFile[]): number {
  return files.reduce((sum, { size }) => sum + size, 0);
}
