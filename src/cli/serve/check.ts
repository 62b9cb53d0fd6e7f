/** `chairlift serve --check`: what would be served, without a server. */
import type { ModelDefinition } from '../../front/registry/model-definition.ts';
import { isRemote } from '../../model/remotes/remotes.ts';
import { countParameters } from '../../model/huggingface/parameter-count.ts';
import { socketPathOf } from '../../net/unix-address.ts';
import { createLogger } from '../../observability/logger.ts';
import { openAccess } from '../../serving/server/access.ts';
import type { ServeOptions } from '../../settings/commands.ts';
import { askForModel } from '../../serving/models/download-model.ts';
import { EncoderLoader, kindOf } from '../../serving/loading/encoder-loader.ts';
import { errorLine } from '../terminal/error-line.ts';
import { findModel } from '../../serving/models/find-model.ts';
import { freeMemory } from '../../ort/free-memory.ts';
import {
  checkAdapter,
  servedLora,
  type ServedLora,
  warnOfMissing,
} from '../../serving/plan/lora.ts';
import { allWeightBytes } from '../../serving/plan/memory.ts';
import { planModel } from '../../serving/plan/model-plan.ts';
import { readPinnedPrompts } from '../../serving/loading/pin-prompts.ts';
import { readResumeKey } from '../../serving/server/resumption.ts';
import { modelControl, servedModels, servedNames } from '../../serving/server/served-models.ts';
import type { Settings } from '../../settings/settings.ts';
import { redisUrl } from '../../serving/server/shared-state.ts';
import { readServiceClasses } from '../../serving/server/slo.ts';
import { formatBytes, formatCount } from '../terminal/text-format.ts';
import { UserError } from '../../user-error.ts';
import { UsageError } from '../../settings/usage-error.ts';

/** Facts about a model that could be served. */
interface Checked {
  readonly description: string;
  /** Memory of weights and KV cache. */
  readonly bytes: number;
}

/**
 * Reads all that a server would read before it starts, and prints what it would be.
 * @throws UsageError where flags or files are wrong, UserError where a model can't be served
 */
export async function check(settings: Settings<'serve'>): Promise<void> {
  const { options } = settings;
  const logger = createLogger('warn', options.logFormat);
  for (const note of settings.notes) logger.warn(note);
  const { keys, tls } = await openAccess(options, logger, await readServiceClasses(options.slo));
  await Promise.all([readResumeKey(options), redisUrl(options), warnOfMissing(options, logger)]);
  const prompts = options.prefetch === undefined ? [] : await readPinnedPrompts(options.prefetch);
  const served = await servedModels(options, logger);
  const { definitions, aliases } = served;
  const lora = servedLora(options, servedNames(options, served));
  const control = modelControl(options);
  const scheme = tls === null ? 'http' : 'https';
  const access = [
    keys.isOpen ? 'no key needed' : `keys of ${keys.numClients} clients`,
    ...(keys.hasAdmin ? ['an admin key'] : []),
  ].join(', ');
  const rows = [
    ['address', addressOf(options, scheme)],
    ['access', access],
    ...(prompts.length === 0 ? [] : [['prefetch', `${prompts.length} prompts`]]),
    ...(aliases.size === 0 ? [] : [['aliases', [...aliases.keys()].join(', ')]]),
    ['models', `${definitions.length}, loaded ${control === 'auto' ? 'on request' : 'at start'}`],
  ];
  for (const [label = '', value = ''] of rows) console.log(`  ${label.padEnd(10)} ${value}`);
  const failed = await checkModels(definitions, settings, lora);
  if (failed > 0) {
    throw new UserError(`${failed} of ${definitions.length} models cannot be served`);
  }
  console.log('\nAll is well; nothing was started.');
}

function addressOf({ host, port }: ServeOptions, scheme: string): string {
  return socketPathOf(host) === null ? `${scheme}://${host}:${port}` : host;
}

/** @returns how many can't be served */
async function checkModels(
  definitions: readonly ModelDefinition[],
  { options }: Settings<'serve'>,
  lora: ServedLora,
): Promise<number> {
  const isOnRequest = modelControl(options) === 'auto';
  let failed = 0;
  let atStart = 0;
  for (const definition of definitions) {
    const { name, version } = definition;
    const label = version === '1' ? name : `${name}@${version}`;
    try {
      const { description, bytes } = await checkModel(
        definition,
        options,
        definitions.length,
        lora,
      );
      atStart += isOnRequest && !definition.preload ? 0 : bytes;
      requireMemory(Math.max(atStart, bytes));
      console.log(`  ${label.padEnd(10)} ${description}`);
    } catch (error) {
      const reason = errorLine(error);
      // Flags that don't go with the only model are wrong flags.
      const isUsage = error instanceof UsageError && definitions.length === 1;
      if (reason === null || isUsage) throw error;
      failed++;
      console.log(`  ${label.padEnd(10)} CANNOT BE SERVED: ${reason}`);
    }
  }
  return failed;
}

/** @throws UserError, UsageError */
export async function checkModel(
  definition: ModelDefinition,
  options: ServeOptions,
  numModels: number,
  lora: ServedLora,
): Promise<Checked> {
  const { source, problem } = definition;
  if (problem !== null) throw new UserError(problem);
  if (isRemote(source)) {
    const bytes = await askForModel(source);
    if (bytes !== null) {
      const description = `${source}, to be downloaded: ${formatBytes(bytes)} in all its files`;
      return { description, bytes: 0 };
    }
  }
  if ((await kindOf(source)) !== 'text') return checkEncoder(definition, options);
  return checkText(definition, options, numModels, lora);
}

async function checkText(
  definition: ModelDefinition,
  options: ServeOptions,
  numModels: number,
  lora: ServedLora,
): Promise<Checked> {
  const { adapter, draftModel, modelRepository } = options;
  const adapters = [
    ...(adapter === undefined ? [] : [adapter]),
    ...lora.shelf.of(definition.name).map(({ path }) => path),
  ];
  await Promise.all(adapters.map((each) => checkAdapter(each)));
  if (draftModel !== undefined) await findModel(draftModel, modelRepository);
  const plan = await planModel(definition, options, numModels, lora.needOf(definition.name));
  const { chosen, choice, limits, chosenDevice, kernels } = plan;
  const { decoder } = chosen;
  const weights = allWeightBytes(plan);
  const size = weights === 0 ? '' : `, weights ${formatBytes(weights)}`;
  const family =
    decoder.kind === 'buildable'
      ? `${decoder.config.family.modelType}, ${formatCount(countParameters(decoder.config))} parameters`
      : `ONNX export, ${decoder.config.family}`;
  const description = [
    family,
    `${choice.precision} on ${chosenDevice.device.name}`,
    ...(kernels.description === null ? [] : [`kernels ${kernels.description}`]),
    `${limits.maxNumSeqs} sequences of ${limits.maxModelLen} tokens`,
    `KV cache up to ${formatBytes(limits.kvCacheMemory)}${size}`,
    ...plan.warnings,
  ].join(', ');
  // A GPU has memory of its own.
  const isCpu = chosenDevice.device.name === 'cpu';
  return { description, bytes: isCpu ? weights + limits.kvCacheMemory : 0 };
}

async function checkEncoder(definition: ModelDefinition, options: ServeOptions): Promise<Checked> {
  const isShared = () => false;
  const loader = new EncoderLoader({ options, logger: createLogger('silent'), isShared });
  const bytes = await loader.estimate(definition);
  return { description: `encoder or graph, weights ${formatBytes(bytes)}`, bytes };
}

/** @throws UserError */
function requireMemory(bytes: number): void {
  const free = freeMemory();
  if (bytes <= free) return;
  throw new UserError(
    `weights and KV cache take ${formatBytes(bytes)}, and ${formatBytes(free)} are free: ` +
      'lower --kv-cache-memory, or take a smaller --precision',
  );
}
