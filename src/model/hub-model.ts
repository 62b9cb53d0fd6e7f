import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { parseDecoderConfig } from './config.ts';
import { ModelError } from './errors.ts';
import { downloadHubFile, type HubFileOptions } from './hub-file.ts';
import {
  type HubFile,
  type HubListing,
  type HubReference,
  listHubFiles,
} from './hub-repository.ts';
import { readJson } from './json-file.ts';

/** What a decoder and its tokenizer are made of; other formats and weights are left on the hub. */
const CONFIG = 'config.json';
const TEXTS =
  /^(config|generation_config|tokenizer|tokenizer_config|special_tokens_map|chat_template)\.json$|^chat_template\.jinja$/;
const SHARDS = /^model-\d+-of-\d+\.safetensors$|^model\.safetensors\.index\.json$/;

export interface PullOptions extends Pick<HubFileOptions, 'access' | 'retryMs'> {
  readonly cacheDirectory: string;
  /** Called with bytes, those that were there before included. */
  readonly onProgress?: (done: number, total: number) => void;
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
  { onProgress = () => {}, ...options }: PullOptions,
): Promise<void> {
  const [texts, weights] = wantedFiles(id, files);
  const wanted = [...texts, ...weights];
  const total = wanted.reduce((sum, { size }) => sum + size, 0);
  let done = 0;
  for (const file of wanted) {
    // A model that can't be served is told before its weights are downloaded.
    if (file === weights[0]) parseDecoderConfig(await readJson(join(folder, CONFIG)), id);
    const path = `/${id}/resolve/${commit}/${file.name}`;
    await downloadHubFile(file, path, join(folder, file.name), {
      ...options,
      onProgress: (bytes) => onProgress(done + bytes, total),
    });
    done += file.size;
  }
}

function wantedFiles(
  id: string,
  files: readonly HubFile[],
): readonly [texts: readonly HubFile[], weights: readonly HubFile[]] {
  const texts = files.filter(({ name }) => TEXTS.test(name));
  const whole = files.filter(({ name }) => name === 'model.safetensors');
  const weights = whole.length > 0 ? whole : files.filter(({ name }) => SHARDS.test(name));
  if (!texts.some(({ name }) => name === CONFIG) || weights.length === 0) {
    const names = files.map(({ name }) => name);
    throw new ModelError(
      `${id} has no ${CONFIG} with safetensors weights, only ${names.slice(0, 8).join(', ')}`,
    );
  }
  return [texts, weights];
}
