/** Finds a model by its name: one lookup for all commands. */
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { alikeNames } from '../../front/registry/near-names.ts';
import { defaultCacheDirectory } from '../../model/cache/cache-directory.ts';
import { fileExists } from '../../files/file-exists.ts';
import { ggufModelName, isGguf } from '../../model/gguf/gguf-names.ts';
import { cachedFolder } from '../../model/hub/hub-model.ts';
import { isHubReference, parseHubReference } from '../../model/hub/hub-repository.ts';
import { toHubReference } from '../../server/ollama/names.ts';
import type { Options } from '../../settings/options.ts';
import { UserError } from '../../user-error.ts';
import { EMBEDDED, localModels, scan } from './local-models.ts';

export interface FoundModel {
  /** A path, or `hf:owner/name` for what has to be downloaded. */
  readonly source: string;
  /** Name for clients, unless the operator sets another one. */
  readonly name: string;
}

/**
 * A folder, a GGUF file, an embedded model, one of the repository, one that was downloaded
 * (`owner/name`), or one of the hub (`owner/name`, `hf:owner/name[:file][@revision]`): the first that
 * there is.
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
  const reference = hubReferenceOf(name);
  if (reference !== null) {
    const { id } = parseHubReference(reference);
    const folder = isHubReference(name) ? null : await downloaded(reference);
    if (folder !== null) return { source: folder, name: id };
    if (await isOnHub(name)) return { source: reference, name: id };
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
  if (isHubReference(model)) return parseHubReference(model).id;
  const path = resolve(model);
  if (isGguf(path)) return ggufModelName(basename(path));
  return basename(path) === 'config.json' ? basename(dirname(path)) : basename(path);
}

/** `hf:owner/name` for every way to write it; null for what is no name on the hub. */
export function hubReferenceOf(name: string): string | null {
  const reference = toHubReference(name);
  if (reference !== null) return reference;
  return /^[\w][\w.-]*\/[\w][\w.-]*(?:[@:].+)?$/.test(name) ? toHubReference(`hf:${name}`) : null;
}

/** Whether a name is meant for the hub: `models/sumit` is rather below a folder of this machine. */
export async function isOnHub(name: string): Promise<boolean> {
  if (hubReferenceOf(name) === null) return false;
  return isHubReference(name) || !(await isFolder(dirname(name)));
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

async function downloaded(reference: string): Promise<string | null> {
  return cachedFolder(parseHubReference(reference), defaultCacheDirectory());
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
