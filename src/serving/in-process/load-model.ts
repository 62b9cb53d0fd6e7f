import { createLogger } from '../../observability/logger.ts';
import { InvalidRequestError } from '../../front/invalid-request.ts';
import type { LoadingOption } from '../../settings/flag-sets.ts';
import type { OptionName } from '../../settings/options.ts';
import type { ProgramOptions } from '../../settings/program-options.ts';
import { programSettings } from '../../settings/program-settings.ts';
import { aloneWith } from '../loading/alone.ts';
import { EncoderLoader } from '../loading/encoder-loader.ts';
import { AnyModelLoader } from '../loading/model-loader.ts';
import { TextModelLoader } from '../loading/text-model-loader.ts';
import { findServable } from '../models/find-model.ts';
import { ownDefinition } from '../models/own-definition.ts';
import { InProcessModel } from './loaded-model.ts';
import type { Model } from './model.ts';

/** Settings that make sense without a server; `chairlift serve --help=all` says what each is. */
export type LoadOptions = ProgramOptions<
  | Exclude<LoadingOption, OfServers>
  | Extract<
      OptionName,
      | 'instances'
      | 'maxBatchSize'
      | 'maxBatchTokens'
      | 'maxQueueDelayMs'
      | 'preferredBatchSizes'
      | 'cacheDir'
      | 'offline'
      | 'hfToken'
      | 'hfTokenFile'
      | 'endpointUrl'
      | 'config'
      | 'logLevel'
      | 'logFormat'
    >
>;

/** Settings about requests to a server, of which a program has none. */
type OfServers =
  | 'batchDir'
  | 'batchDisk'
  | 'loraDir'
  | 'loraModules'
  | 'prefetch'
  | 'prefetchNextTurn'
  | 'priorityRange'
  | 'requestTimeout'
  | 'responseStoreSize'
  | 'slo';

/**
 * Loads a model into a process next to this one. What is not downloaded or built yet is, which can take
 * minutes the first time. The cache folder and the hub's token are those of the last call in a process.
 * @param name what `chairlift serve` takes: a folder, a GGUF file, `owner/name` of Hugging Face, or the
 *   name of an embedded model, such as `summit`
 * @param options as the flags of `chairlift serve`, in camelCase. Unless they say so, nothing is logged
 *   below `warn`, and any number of requests may wait.
 * @throws UsageError for settings, UserError where there is no such model, ModelError where it can't be
 *   read or downloaded, EngineError where its process does not start
 */
export async function loadModel(name: string, options: LoadOptions = {}): Promise<Model> {
  const settings = await programSettings({
    logLevel: 'warn',
    // One program's requests are all its own.
    maxQueue: Number.MAX_SAFE_INTEGER,
    ...options,
  });
  const { options: resolved } = settings;
  const logger = createLogger(resolved.logLevel, resolved.logFormat);
  for (const note of settings.notes) logger.warn(note);
  const alone = aloneWith(resolved, logger);
  const loader = new AnyModelLoader(
    new TextModelLoader(alone),
    new EncoderLoader({ options: resolved, logger, isShared: alone.isShared }),
  );
  const definition = ownDefinition(await findServable(name, resolved), resolved.instances);
  const runtime = await loader.load(definition, () => {});
  if (runtime.kind !== 'tensors') return new InProcessModel(runtime);
  await runtime.stop();
  throw new InvalidRequestError(`${name} is a graph of tensors: \`serve\` it`);
}
