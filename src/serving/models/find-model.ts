/** Finds a model by its name: one lookup for all commands. */
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { alikeNames } from '../../front/registry/near-names.ts';
import { defaultCacheDirectory } from '../../model/cache/cache-directory.ts';
import { fileExists } from '../../files/file-exists.ts';
import { ggufModelName, isGguf } from '../../model/gguf/gguf-names.ts';
import { isBucketReference } from '../../model/bucket/bucket-reference.ts';
import { cachedExports } from '../../model/download/remote-model.ts';
import { isRemote, remoteOf } from '../../model/remotes/remotes.ts';
import { toHubReference } from '../../server/ollama/names.ts';
import type { Options } from '../../settings/options.ts';
import { UserError } from '../../user-error.ts';
import { EMBEDDED, localModels, scan } from './local-models.ts';

export interface FoundModel {
  /** A path, or `hf:owner/name` or `s3://bucket/prefix` for what has to be downloaded. */
  readonly source: string;
  /** Name for clients, unless the operator sets another one. */
  readonly name: string;
}

/**
 * A folder, a GGUF file, an embedded model, one of the repository, one that was downloaded
 * (`owner/name`), one of a bucket (`s3://bucket/prefix`, `gs://bucket/prefix`), or one of the hub
 * (`owner/name`, `hf:owner/name[:what][@revision]`): the first that there is.
 * @param repository folder of --model-repository
 * @throws UserError in two lines when there is none
 */
export async function findModel(name: string, repository?: string): Promise<FoundModel> {
  const stats = await stat(name).catch(() => null);
  const isPath = /^[./~]|^[a-z]:\\/i.test(name);
  if (stats !== null && (isPath || stats.isDirectory() || isGguf(name))) return pathModel(name);
  if (isPath) throw await notFound(name, repository);
  const found = (await embedded(name)) ?? (await ofRepository(name, repository));
  if (found !== null) return found;
  const reference = referenceOf(name);
  if (reference !== null) {
    const remote = remoteOf(reference);
    const folder = isRemote(name) ? null : await cachedExports(remote, defaultCacheDirectory());
    if (folder !== null) return { source: folder, name: remote.name };
    if (await isElsewhere(name)) return { source: reference, name: remote.name };
  }
  if (stats !== null) return pathModel(name);
  throw await notFound(name, repository);
}

/** As `findModel`; with random weights the name of a shape, which has no files that could be found. */
export async function findServable(
  name: string,
  { randomWeights, modelRepository }: Options<'randomWeights' | 'modelRepository'>,
): Promise<FoundModel> {
  if (randomWeights !== undefined) return { source: name, name: nameOfModel(name) };
  return findModel(name, modelRepository);
}

/** Name of a model that lies at a path. */
export function nameOfModel(model: string): string {
  if (isRemote(model)) return remoteOf(model).name;
  const path = resolve(model);
  if (isGguf(path)) return ggufModelName(basename(path));
  return basename(path) === 'config.json' ? basename(dirname(path)) : basename(path);
}

/** `hf:owner/name` for every way to write it; null for what is no name on the hub. */
function hubReferenceOf(name: string): string | null {
  const reference = toHubReference(name);
  if (reference !== null) return reference;
  return /^[\w][\w.-]*\/[\w][\w.-]*(?:[@:].+)?$/.test(name) ? toHubReference(`hf:${name}`) : null;
}

/** Argument of `remoteOf`, for every way to write it; null for what is no name of a model elsewhere. */
export function referenceOf(name: string): string | null {
  return isBucketReference(name) ? name : hubReferenceOf(name);
}

/** Whether a name is meant for a download: `models/sumit` is rather below a folder of this machine. */
export async function isElsewhere(name: string): Promise<boolean> {
  if (referenceOf(name) === null) return false;
  return isRemote(name) || !(await isFolder(dirname(name)));
}

function pathModel(path: string): FoundModel {
  return { source: resolve(path), name: nameOfModel(path) };
}

/** With Ollama's tag or version, or without. */
function splitTag(name: string): { readonly plain: string; readonly tag: string } {
  const [, plain = name, tag = 'latest'] = /^([^/]+?)[:@]([^:@/]+)$/.exec(name) ?? [];
  return { plain, tag };
}

async function embedded(name: string): Promise<FoundModel | null> {
  const { plain } = splitTag(name);
  const path = join(EMBEDDED, plain);
  return /^\w+$/.test(plain) && (await isFolder(path)) ? { source: path, name: plain } : null;
}

async function ofRepository(
  name: string,
  repository: string | undefined,
): Promise<FoundModel | null> {
  const { plain, tag } = splitTag(name);
  const { definitions } = await scan(repository);
  const found = definitions.find(
    ({ name: each, version }) => each === plain && (tag === 'latest' || tag === version),
  );
  return found ? { source: found.source, name: found.name } : null;
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() ?? false;
}

async function notFound(name: string, repository: string | undefined): Promise<UserError> {
  const names = (await localModels(repository)).map((model) => model.name);
  const near = alikeNames(name, [...names, ...(await neighbours(name))]).slice(0, 3);
  const hint =
    near.length > 0
      ? `Did you mean ${near.join(' or ')}?`
      : `\`chairlift list\` shows ${names.slice(0, 5).join(', ')}; owner/name is of Hugging Face.`;
  return new UserError(
    `there is no model ${name}: no folder or file, and no name of \`chairlift list\`\n${hint} ` +
      'Kinds of models: docs/models-and-precision.md',
  );
}

/** Models that lie where a path leads to. */
async function neighbours(path: string): Promise<string[]> {
  const folder = dirname(path);
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const found = await Promise.all(
    entries.map(async ({ name }) => {
      const isModel = isGguf(name) || (await fileExists(join(folder, name, 'config.json')));
      return isModel ? [folder === '.' && !path.startsWith('.') ? name : `${folder}/${name}`] : [];
    }),
  );
  return found.flat();
}
