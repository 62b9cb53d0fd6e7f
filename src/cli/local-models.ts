/** Models that lie on this machine, and what they are called. */
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { scanRepository } from '../front/registry/repository.ts';
import { defaultCacheDirectory } from '../model/build/cache-directory.ts';
import { isGguf } from '../model/gguf/gguf-names.ts';
import { cachedModels, measure } from '../model/hub/hub-cache.ts';
import { cachedFolder } from '../model/hub/hub-model.ts';
import { parseHubReference } from '../model/hub/hub-repository.ts';
import { toHubReference } from '../server/ollama/names.ts';
import { UsageError } from './usage-error.ts';

export interface LocalModel {
  readonly name: string;
  /** Where it comes from. */
  readonly place: 'embedded' | 'downloaded' | 'repository';
  readonly bytes: number;
  readonly modifiedAt: Date;
}

const EMBEDDED = fileURLToPath(new URL('../../models', import.meta.url));

/** @param repository folder of --model-repository */
export async function localModels(repository: string | undefined): Promise<LocalModel[]> {
  const downloaded = await cachedModels(defaultCacheDirectory());
  return [
    ...(await embeddedModels()),
    ...downloaded.map(({ id, ...size }) => ({
      name: id,
      place: 'downloaded' as const,
      ...size,
    })),
    ...(await repositoryModels(repository)),
  ];
}

/**
 * What a name means: a folder, a GGUF file, a model that was downloaded (`owner/name`, `hf:owner/name@revision`), of
 * the repository, or an embedded one.
 * @returns what `--model` takes
 * @throws UsageError when there is none
 */
export async function findModel(name: string, repository: string | undefined): Promise<string> {
  const stats = await stat(name).catch(() => null);
  if (stats?.isDirectory() === true || (stats !== null && isGguf(name))) return resolve(name);
  const [, base = name, tag] = /^(.+?)[:@]([^:@/]+)$/.exec(name) ?? [];
  const isTagged = tag !== undefined && !name.startsWith('hf:');
  const plain = isTagged ? base : name;
  const embedded = join(EMBEDDED, plain);
  if (/^\w+$/.test(plain) && (await stat(embedded).catch(() => null)) !== null) return embedded;
  const { definitions } = await scan(repository);
  const found = definitions.find(
    (definition) =>
      definition.name === plain && (!isTagged || tag === 'latest' || tag === definition.version),
  );
  if (found !== undefined) return found.source;
  const reference = hubReferenceOf(name);
  const folder =
    reference && (await cachedFolder(parseHubReference(reference), defaultCacheDirectory()));
  if (folder) return folder;
  const hint = reference === null ? '' : `; \`chairlift pull ${reference}\` downloads it`;
  throw new UsageError(`there is no model ${name} on this machine${hint}`);
}

/** `hf:owner/name` for every way to write it; null for what is no name on the hub. */
export function hubReferenceOf(name: string): string | null {
  const reference = toHubReference(name);
  if (reference !== null) return reference;
  return /^[\w][\w.-]*\/[\w][\w.-]*(?:[@:].+)?$/.test(name) ? toHubReference(`hf:${name}`) : null;
}

async function embeddedModels(): Promise<LocalModel[]> {
  const names = await readdir(EMBEDDED, { withFileTypes: true }).catch(() => []);
  const folders = names.filter((entry) => entry.isDirectory());
  return Promise.all(
    folders.map(async ({ name }) => ({
      name,
      place: 'embedded' as const,
      ...(await measure(join(EMBEDDED, name))),
    })),
  );
}

async function repositoryModels(repository: string | undefined): Promise<LocalModel[]> {
  const { definitions } = await scan(repository);
  return Promise.all(
    definitions.map(async ({ name, version, source }) => {
      const isOnly = definitions.filter((other) => other.name === name).length === 1;
      return {
        name: isOnly ? name : `${name}:${version}`,
        place: 'repository' as const,
        ...(await measure(source)),
      };
    }),
  );
}

async function scan(repository: string | undefined) {
  if (repository === undefined) return { definitions: [] };
  try {
    return await scanRepository(resolve(repository));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`--model-repository: ${reason}`, { cause: error });
  }
}
