import { createLogger } from '../../observability/logger.ts';
import { capabilitiesOf, capabilitiesOfRuntime } from '../../server/describe-models.ts';
import { describeTuning } from '../../serving/plan/tuning.ts';
import { type OpenServer, openServer } from '../../serving/server/open-server.ts';
import type { Ports } from '../../serving/server/open-ports.ts';
import { modelControl } from '../../serving/server/served-models.ts';
import type { ServeOptions } from '../../settings/commands.ts';
import type { Settings } from '../../settings/settings.ts';
import { printReady } from '../terminal/broken-pipe.ts';
import { samplingInWords } from '../terminal/sampling-words.ts';
import { banner, repositoryBanner } from './banner.ts';
import { onDumpSignal } from './dump.ts';
import { onReloadSignal } from './reload.ts';
import { onShutdownSignal } from './shutdown.ts';
import { keepHeapSmall } from './small-heap.ts';
import { surviveErrors } from './survive-errors.ts';

/**
 * `chairlift serve`: the server, which follows signals.
 * @returns once it serves
 */
export async function serve(settings: Settings<'serve'>): Promise<Ports> {
  keepHeapSmall();
  const { options } = settings;
  const logger = createLogger(options.logLevel, options.logFormat);
  const server = await openServer(settings, logger);
  surviveErrors(logger, server.metrics);
  onReloadSignal(() => server.reload());
  onDumpSignal(server.context);
  onShutdownSignal(() => server.drain());
  await server.ready;
  printReady(await readyText(server, options));
  return server.ports;
}

async function readyText(server: OpenServer, options: ServeOptions): Promise<string> {
  const { ports, context, models } = server;
  const { version } = context.config;
  const places = { ...ports, hasPage: context.page !== null };
  const needsKey = !context.keys.isOpen;
  const list = models.list();
  const [served] = models.loaded();
  const isAlone = options.modelRepository === undefined && list.length === 1;
  if (!isAlone || served?.runtime.kind !== 'text') {
    const [first] = list;
    const capabilities = first ? await capabilitiesOf(context, first) : null;
    const control = modelControl(options);
    return repositoryBanner({ places, version, models: list, capabilities, control, needsKey });
  }
  const { model, how, engine } = served.runtime;
  return banner({
    places,
    version,
    modelName: model.id,
    manifest: how.manifest,
    precisionReason: how.choice.reason,
    kernelSet: how.kernels.description,
    tuned: how.tuning && describeTuning(how.tuning),
    adapter: how.chosenDevice.adapter,
    deviceReason: how.chosenDevice.reason,
    info: engine.info,
    limits: how.limits,
    attention: how.attention,
    sampling: samplingInWords(model.samplingDefaults),
    capabilities: capabilitiesOfRuntime(served.runtime),
    needsKey,
  });
}
