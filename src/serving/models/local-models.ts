/** Models that lie on this machine, and what they are called. */
import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Repository, scanRepository } from '../../front/registry/repository.ts';
import { defaultCacheDirectory } from '../../model/cache/cache-directory.ts';
import { measure } from '../../model/download/cached-models.ts';
import { cachedModels } from '../../model/remotes/remotes.ts';
import { UserError } from '../../user-error.ts';
import { reasonOf } from '../../files/system-error.ts';

export interface LocalModel {
  readonly name: string;
  /** Where it comes from. */
  readonly place: 'embedded' | 'downloaded' | 'repository';
  readonly bytes: number;
  readonly modifiedAt: Date;
}

/** Models that come with the program. */
export const EMBEDDED = fileURLToPath(new URL('../../../models', import.meta.url));

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

/** @throws UserError when it can't be read */
export async function scan(repository: string | undefined): Promise<Repository> {
  if (repository === undefined) return { definitions: [], aliases: new Map(), problems: [] };
  try {
    return await scanRepository(resolve(repository));
  } catch (error) {
    throw new UserError(`--model-repository ${repository}: ${reasonOf(error)}`, { cause: error });
  }
}
