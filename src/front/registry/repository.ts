/** A folder of models, as Triton has them: `<repository>/<model>/[<version>/]<files>`. */
import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readBounded } from '../../files/read-bounded.ts';
import { joinUntrusted } from '../../files/untrusted-path.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import type { Aliases } from './aliases.ts';
import type { ModelDefinition } from './model-definition.ts';
import {
  CONFIG_FILE,
  type ModelConfig,
  parseModelConfig,
  parseRepositoryConfig,
  servedVersions,
} from './repository-config.ts';
import { reasonOf } from '../../files/system-error.ts';

export interface Repository {
  readonly definitions: readonly ModelDefinition[];
  readonly aliases: Aliases;
  /** Problems of the repository itself; the models are served all the same. */
  readonly problems: readonly string[];
}

/** Files that only a folder with a model has. */
const MODEL_FILE = /^(?:config\.json|genai_config\.json|.+\.(?:onnx|gguf))$/;
/** As Triton has them: whole numbers, and none that begin with 0. */
const VERSION = /^[1-9]\d{0,14}$/;
const NAME = /^[\w][\w.-]{0,127}$/;
const NO_VERSION = '1';

/**
 * Lists the repository's models. A model that can't be used is listed too, with the reason.
 * @throws Error when the folder can't be read
 */
export async function scanRepository(folder: string): Promise<Repository> {
  const problems: string[] = [];
  const definitions: ModelDefinition[] = [];
  const aliases = new Map(await readAliases(folder, problems));
  const names = (await subfolders(folder)).filter((name) => NAME.test(name));
  if (names.length > MODEL_LIMITS.repositoryModels) {
    problems.push(`of ${names.length} folders the first ${MODEL_LIMITS.repositoryModels} are read`);
  }
  for (const name of names.slice(0, MODEL_LIMITS.repositoryModels)) {
    const model = await readModel(join(folder, name), name);
    definitions.push(...model.definitions);
    for (const alias of model.aliases) aliases.set(alias, new Map([[name, 1]]));
  }
  return { definitions, aliases, problems };
}

async function readModel(path: string, name: string) {
  const { config, problem } = await readConfig(path);
  const folders = await subfolders(path).catch((): string[] => []);
  const versions = folders.filter((folder) => VERSION.test(folder));
  const holdsModel = config.model !== undefined || (await hasModelFile(path));
  const places =
    versions.length > 0 && !holdsModel
      ? servedVersions(config.versionPolicy, versions).map((version) => ({
          version,
          source: join(path, version),
        }))
      : [{ version: NO_VERSION, source: config.model ?? path }];
  const { max_batch_size, dynamic_batching, image = null } = config;
  const isModel = holdsModel || problem !== null || versions.length > 0;
  const definitions = isModel
    ? await Promise.all(
        places.map(async ({ version, source }): Promise<ModelDefinition> => ({
          name,
          version,
          source,
          flags: config.flags,
          triton: { max_batch_size, dynamic_batching },
          image,
          instances: config.instances,
          preload: config.preload,
          keepAliveMs: config.keepAlive ?? null,
          fingerprint: await fingerprint(path, version),
          problem,
        })),
      )
    : [];
  return { definitions, aliases: config.aliases };
}

async function readConfig(path: string): Promise<{ config: ModelConfig; problem: string | null }> {
  try {
    const config = parseModelConfig((await readJson(join(path, CONFIG_FILE))) ?? {});
    return { config: withLabels(config, path), problem: null };
  } catch (error) {
    return { config: parseModelConfig({}), problem: reasonOf(error) };
  }
}

/** With the path of the labels' file, which is in the model's folder. @throws UntrustedPathError */
function withLabels(config: ModelConfig, path: string): ModelConfig {
  const { image } = config;
  if (image?.labels === undefined) return config;
  const labels = joinUntrusted(path, image.labels, CONFIG_FILE);
  return { ...config, image: { ...image, labels } };
}

async function readAliases(folder: string, problems: string[]): Promise<Aliases> {
  try {
    return parseRepositoryConfig((await readJson(join(folder, CONFIG_FILE))) ?? {});
  } catch (error) {
    problems.push(reasonOf(error));
    return new Map();
  }
}

/** Null if there is no such file. */
async function readJson(path: string): Promise<unknown> {
  const isThere = await stat(path).catch(() => null);
  if (isThere === null) return null;
  const text = await readBounded(path, MODEL_LIMITS.textFileBytes);
  try {
    return JSON.parse(text.toString('utf8'));
  } catch (error) {
    throw new Error(`${CONFIG_FILE} is not JSON: ${reasonOf(error)}`, { cause: error });
  }
}

async function subfolders(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const isFolder = async (name: string) =>
    (await stat(join(folder, name)).catch(() => null))?.isDirectory();
  const found: string[] = [];
  for (const entry of entries) {
    if (entry.name.startsWith('.')) continue;
    // Links count as what they lead to.
    if (entry.isDirectory() || (entry.isSymbolicLink() && (await isFolder(entry.name)))) {
      found.push(entry.name);
    }
  }
  return found.toSorted();
}

async function hasModelFile(folder: string): Promise<boolean> {
  const names = await readdir(folder).catch((): string[] => []);
  return names.some((name) => MODEL_FILE.test(name) || name === 'onnx');
}

/** Names, sizes and times of the files that a version consists of; of weights nothing is read. */
async function fingerprint(path: string, version: string): Promise<string> {
  const hash = createHash('sha256');
  for (const folder of [path, join(path, 'onnx'), join(path, version)]) {
    const names = await readdir(folder).catch((): string[] => []);
    for (const name of names.toSorted()) {
      const stats = await stat(join(folder, name)).catch(() => null);
      if (stats?.isFile()) hash.update(`${folder}/${name} ${stats.size} ${stats.mtimeMs}\n`);
    }
  }
  return hash.digest('hex');
}
