/** Which models a server has: those of `--model` and of `--model-repository`. */
import { stat } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { Aliases } from '../../front/registry/aliases.ts';
import type { ModelDefinition } from '../../front/registry/model-definition.ts';
import type { ModelControl } from '../../front/registry/model-control.ts';
import { findServable, type FoundModel } from '../models/find-model.ts';
import { scan } from '../models/local-models.ts';
import type { ServedNames } from '../plan/lora.ts';
import { defaultModel } from '../models/model-source.ts';
import type { Options } from '../../settings/options.ts';
import { ownDefinition } from '../models/own-definition.ts';
import { UsageError } from '../../settings/usage-error.ts';

export interface ServedModels {
  readonly definitions: readonly ModelDefinition[];
  readonly aliases: Aliases;
}

type ServedOptions = Options<
  'models' | 'servedModelName' | 'randomWeights' | 'modelRepository' | 'modelControl' | 'instances'
>;

/** `chat=hf:owner/name`; a path may hold `=` too, but not before its first separator. */
const NAMED = /^([\w][\w.-]{0,127})=(.+)$/;

/** When models are loaded, if the flags do not say. */
export function modelControl({
  modelControl: control,
  modelRepository,
}: ServedOptions): ModelControl {
  return control ?? (modelRepository === undefined ? 'none' : 'auto');
}

/**
 * @throws UsageError when the flags do not go together, or the repository can't be read; UserError
 *   when there is no such model
 */
export async function servedModels(options: ServedOptions, logger: Logger): Promise<ServedModels> {
  const { modelRepository, servedModelName = [], models = [], instances } = options;
  const isNone = models.length === 0 && modelRepository === undefined;
  const wanted = isNone ? [defaultModel(options.randomWeights !== undefined)] : models;
  const [mainName, ...otherNames] = servedModelName;
  if (mainName !== undefined && (wanted.length !== 1 || modelRepository !== undefined)) {
    throw new UsageError('--served-model-name is for a single --model; use --model name=folder');
  }
  const repository = await scan(modelRepository);
  for (const problem of repository.problems) {
    logger.warn({ repository: modelRepository }, problem);
  }
  const found = await Promise.all(wanted.map((text) => lookUp(text, options)));
  const named = found
    .map((model) => ({ ...model, name: mainName ?? model.name }))
    // A model of the repository is served with the repository's flags.
    .filter(({ name, source }) =>
      repository.definitions.every((each) => each.name !== name || each.source !== source),
    )
    .map((model) => ownDefinition(model, instances));
  const names = named.map(({ name }) => name);
  const twice = [...names, ...otherNames].find((name, at, all) => all.indexOf(name) !== at);
  if (twice !== undefined) throw new UsageError(`--model: two models are called ${twice}`);
  const others = repository.definitions.filter(({ name }) => !names.includes(name));
  return {
    definitions: [
      ...named,
      ...others.map((each) => ({
        ...each,
        instances: each.instances * instances,
        preload: each.preload || found.some(({ source }) => source === each.source),
      })),
    ],
    aliases: new Map([
      ...repository.aliases,
      ...otherNames.map((alias) => [alias, new Map([[mainName ?? '', 1]])] as const),
    ]),
  };
}

/** Finds the model of `name=model`, or of a model alone. */
async function lookUp(text: string, options: ServedOptions): Promise<FoundModel> {
  const isPath = (await stat(text).catch(() => null)) !== null;
  const [, called, given = text] = isPath ? [] : (NAMED.exec(text) ?? []);
  const model = await findServable(given, options);
  return called === undefined ? model : { ...model, name: called };
}

/** Models of the server, as adapters see them. */
export function servedNames(
  options: ServedOptions,
  { definitions, aliases }: ServedModels,
): ServedNames {
  const names = new Set(definitions.map(({ name }) => name));
  const [first] = names;
  const isOnly = options.modelRepository === undefined && names.size === 1;
  return { names, aliases: aliases.keys(), only: isOnly ? (first ?? null) : null };
}
