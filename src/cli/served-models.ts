/** Which models a server has: those of `--model` and of `--model-repository`. */
import { resolve } from 'node:path';
import type { Logger } from 'pino';
import type { Aliases } from '../front/registry/aliases.ts';
import type { ModelDefinition } from '../front/registry/model-definition.ts';
import type { ModelControl } from '../front/registry/model-control.ts';
import { scanRepository } from '../front/registry/repository.ts';
import { hasLora } from './lora.ts';
import { defaultModel, nameOfModel } from './model-source.ts';
import type { Options } from './options.ts';
import { UsageError } from './usage-error.ts';

export interface ServedModels {
  readonly definitions: readonly ModelDefinition[];
  readonly aliases: Aliases;
}

type ServedOptions = Options<
  'servedModelName' | 'randomWeights' | 'modelRepository' | 'modelControl' | 'instances'
> &
  Partial<Options<'loraModules' | 'loraDir'>> & {
    /** As given: `name=model`, or a model alone. */
    readonly model?: readonly string[];
  };

/** `chat=hf:owner/name`; a path may hold `=` too, but not before its first separator. */
const NAMED = /^([\w][\w.-]{0,127})=(.+)$/;

/** When models are loaded, if the flags do not say. */
export function modelControl({
  modelControl: control,
  modelRepository,
}: ServedOptions): ModelControl {
  return control ?? (modelRepository === undefined ? 'none' : 'auto');
}

/** @throws UsageError when the flags do not go together, or the repository can't be read */
export async function servedModels(options: ServedOptions, logger: Logger): Promise<ServedModels> {
  const { modelRepository, randomWeights, servedModelName } = options;
  const isNone = (options.model ?? []).length === 0 && modelRepository === undefined;
  const models = isNone ? [defaultModel(randomWeights !== undefined)] : (options.model ?? []);
  if (servedModelName !== undefined && (models.length !== 1 || modelRepository !== undefined)) {
    throw new UsageError('--served-model-name is for a single --model; use --model name=folder');
  }
  if (hasLora(options) && (models.length !== 1 || modelRepository !== undefined)) {
    throw new UsageError('--lora-modules and --lora-dir are for a server with one model');
  }
  const named = models.map((text) => definitionOf(text, options));
  const names = named.map(({ name }) => name);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new UsageError(`--model: two models are called ${twice}`);
  if (modelRepository === undefined) return { definitions: named, aliases: new Map() };
  const { definitions, aliases, problems } = await readRepository(modelRepository);
  for (const problem of problems) logger.warn({ repository: modelRepository }, problem);
  const others = definitions.filter(({ name }) => !names.includes(name));
  return {
    definitions: [
      ...named,
      ...others.map((definition) => ({
        ...definition,
        instances: definition.instances * options.instances,
      })),
    ],
    aliases,
  };
}

function definitionOf(
  text: string,
  { servedModelName, instances }: ServedOptions,
): ModelDefinition {
  const [, name, source] = NAMED.exec(text) ?? [];
  const model = source ?? text;
  return {
    name: servedModelName ?? name ?? nameOfModel(model),
    version: '1',
    source: model,
    flags: {},
    instances,
    preload: true,
    keepAliveMs: Infinity,
    fingerprint: '',
    problem: null,
  };
}

async function readRepository(folder: string) {
  try {
    return await scanRepository(resolve(folder));
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`--model-repository: ${reason}`, { cause: error });
  }
}
