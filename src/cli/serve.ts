import { Command, Option } from 'commander';
import { ModelRegistry } from '../front/registry/model-registry.ts';
import { flushTraces } from '../observability/flush-traces.ts';
import { createLogger } from '../observability/logger.ts';
import { NO_ALIASES, VLLM_ALIASES } from '../observability/aliases.ts';
import { MetricsHub } from '../observability/metrics-hub.ts';
import type { ServerContext } from '../server/context.ts';
import { InferenceStatistics } from '../server/generation/inference-statistics.ts';
import { BodyReader } from '../server/http/request-body.ts';
import { LoopMonitor } from '../server/operating/loop-monitor.ts';
import { RunningRequests } from '../server/operating/running-requests.ts';
import { ResponseStore } from '../server/responses/store.ts';
import { WebSocketHub } from '../server/websocket/hub.ts';
import { openAccess } from './access.ts';
import { banner, repositoryBanner } from './banner.ts';
import { DEVICE_OPTIONS } from './device.ts';
import { LORA_OPTIONS } from './lora.ts';
import { addOptions, type OptionName, type Options, readOptions } from './options.ts';
import { openKvEvents } from './kv-events.ts';
import { openRates, ratesOf } from './rates.ts';
import { openResumption } from './resumption.ts';
import { onDumpSignal } from './dump.ts';
import { FolderFacts } from './folder-facts.ts';
import { followRepository } from './follow-repository.ts';
import { logRegistryEvent } from './log-registry.ts';
import { LiveOptions } from './live-options.ts';
import { openPorts } from './open-ports.ts';
import { onReloadSignal } from './reload.ts';
import { pullInto } from './pull-into.ts';
import { modelControl, servedModels } from './served-models.ts';
import { changingConfig, serverConfig } from './server-config.ts';
import { ServingPhase } from './serving-phase.ts';
import { onShutdownSignal } from './shutdown.ts';
import { type LoadedText, TextModelLoader } from './text-model-loader.ts';
import { EncoderLoader } from './encoder-loader.ts';
import { AnyModelLoader, type LoadedModel } from './model-loader.ts';
import { packageVersion } from './version.ts';

const NAMES: readonly OptionName[] = [
  'config',
  'servedModelName',
  'modelRepository',
  'modelControl',
  'repositoryPollSecs',
  'modelsMax',
  'modelsMemory',
  'keepAlive',
  'instances',
  'warmup',
  'maxBatchSize',
  'maxBatchTokens',
  'maxQueueDelayMs',
  'preferredBatchSizes',
  'preserveOrdering',
  'host',
  'port',
  'grpcPort',
  ...DEVICE_OPTIONS,
  'precision',
  'kvCacheDtype',
  'kernels',
  'attention',
  'maxNumSeqs',
  'maxModelLen',
  'maxNumBatchedTokens',
  'kvCacheMemory',
  'prefixCaching',
  'targetItlMs',
  'speculative',
  'speculativeTokens',
  'draftModel',
  'durableKv',
  'maxQueue',
  'maxQueueTokens',
  'requestTimeout',
  'stepTimeout',
  'tokenizerPoolSize',
  'grammarPoolSize',
  'specialTokensInContent',
  'maxBody',
  'maxConnections',
  'maxConnectionsPerAddress',
  'receiveTimeout',
  'responseStoreSize',
  'apiKey',
  'apiKeyFile',
  'adminApiKey',
  'rateLimitRequests',
  'rateLimitTokens',
  'metricsPort',
  'metricsAliases',
  'sharePrefixCache',
  'priorityRange',
  'tlsCert',
  'tlsKey',
  'toolCallParser',
  'reasoningParser',
  'corsOrigin',
  'allowedHost',
  'drainDelay',
  'drainStatus',
  'resumeKey',
  'handoverTo',
  'shutdownTimeout',
  'threads',
  'randomWeights',
  'adapter',
  ...LORA_OPTIONS,
  'logLevel',
  'logFormat',
  'logPrompts',
  'kvEvents',
  'kvEventsReplay',
  'kvEventsAddress',
];

/** `chairlift serve`: the server. */
export function serveCommand(): Command {
  const command = new Command('serve').description('serve models over HTTP and WebSocket');
  command.addOption(
    new Option(
      '--model <folder>',
      'Hugging Face folder or ONNX export, or hf:owner/name[@revision] to download one; with ' +
        '--random-weights also a preset or config.json; may be repeated, as name=folder ' +
        '(default: the embedded model, summit)',
    )
      .env('CHAIRLIFT_MODEL')
      .argParser((text, before?: readonly string[]) => [...(before ?? []), text]),
  );
  return addOptions(command, NAMES).action(async () =>
    serve(await LiveOptions.open(command, readServeOptions)),
  );
}

type ServeOptions = Omit<Options, 'model'> & { readonly model?: readonly string[] };

function readServeOptions(command: Command): ServeOptions {
  const { model } = command.opts<{ model?: readonly string[] }>();
  const { model: _, ...options } = readOptions(command);
  return { ...options, ...(model === undefined ? {} : { model }) };
}

async function serve(live: LiveOptions<ServeOptions>): Promise<void> {
  const { options } = live;
  const logger = createLogger(options.logLevel, options.logFormat);
  const access = await openAccess(options, logger);
  const version = await packageVersion();
  const { definitions, aliases } = await servedModels(options, logger);
  const control = modelControl(options);
  const statistics = new InferenceStatistics();
  const metrics = new MetricsHub({
    withProcess: true,
    models: () => models.list(),
    aliases: options.metricsAliases === 'vllm' ? VLLM_ALIASES : NO_ALIASES,
  });
  const maxModels = control === 'auto' ? options.modelsMax : Infinity;
  const isShared = () => access.keys.numClients > 1;
  const kvEvents = await openKvEvents(options);
  const flags = { ...options, model: undefined };
  const numModels = Math.min(definitions.length, maxModels);
  const loader = new AnyModelLoader(
    new TextModelLoader({
      options: flags,
      numModels,
      logger,
      metrics,
      statistics,
      isShared,
      kvEvents,
    }),
    new EncoderLoader({ options: flags, logger, isShared }),
  );
  const [only, another] = options.modelRepository === undefined ? definitions : [];
  const isAlone = only !== undefined && another === undefined;
  // What is wrong with the only model is told before there is a server.
  if (isAlone) await loader.estimate(only);
  /** Why the only model could not be loaded. */
  let failure: unknown;
  const models: ModelRegistry<LoadedModel> = new ModelRegistry<LoadedModel>({
    loader,
    control,
    maxModels,
    maxBytes: options.modelsMemory ?? Infinity,
    keepAliveMs: options.keepAlive,
    maxWaiting: options.maxQueue,
    onEvent(event) {
      metrics.observe(event);
      if (event.type === 'failed' && isAlone) failure = event.error;
      else logRegistryEvent(event, logger);
    },
  });
  await models.update(definitions, aliases);

  const resumption = openResumption(options, logger);
  const facts = new FolderFacts(options.maxModelLen ?? null);
  const phase = new ServingPhase();
  const config = serverConfig(options, version);
  const rates = ratesOf(options);
  const context: ServerContext = {
    models,
    startedAt: Math.floor(Date.now() / 1000),
    bodies: new BodyReader(options.maxBody),
    responses: new ResponseStore(options.responseStoreSize),
    config,
    keys: access.keys,
    metrics,
    statistics,
    logger,
    rates: openRates(rates, access.keys, metrics),
    running: new RunningRequests(),
    resumption,
    loop: new LoopMonitor(),
    describeModel: (definition) => facts.of(definition),
    pullModel: pullInto(models, options),
    isLeaving: () => phase.isLeaving,
    isDraining: () => phase.isDraining,
  };
  // Before models are built, which can take long: a taken port is reported at once, and probes
  // get 503.
  const webSockets = new WebSocketHub(context);
  const loading = models.preload();
  const ports = await openPorts(context, webSockets, access.tls, options);
  onReloadSignal(async () => {
    await live.reload(logger);
    logger.level = options.logLevel;
    Object.assign(config, changingConfig(options));
    Object.assign(rates, ratesOf(options));
    await access.reload({
      dropRevoked: () => webSockets.dropRevoked(),
      setTls: (renewed) => ports.setTls(renewed),
    });
  });
  onDumpSignal(context);
  onShutdownSignal(() =>
    phase.end({
      delayMs: options.drainDelay * 1000,
      timeoutMs: options.shutdownTimeout * 1000,
      running: context.running,
      logger,
      stopTaking() {
        const admissions = models.loaded().map(({ runtime }) => runtime.admission);
        for (const admission of admissions) admission.close();
        resumption?.handover?.begin();
        return Promise.all(admissions.map((admission) => admission.onIdle()));
      },
      async close(graceMs) {
        await ports.close(graceMs);
        if (resumption?.handover) logger.info(resumption.handover.counts, 'answers handed over');
        await flushTraces();
        await models.close();
        kvEvents?.close();
      },
    }),
  );
  if (options.modelRepository !== undefined && (control === 'auto' || control === 'poll')) {
    followRepository(options, models, logger);
  }

  await loading;
  const { url, grpcAddress, metricsUrl } = ports;
  if (metricsUrl !== null) logger.info({ url: metricsUrl }, 'metrics');
  const needsKey = !access.keys.isOpen;
  const loaded = models.loaded();
  const [served] = loaded;
  // The server has nothing to serve, and its operator is there to be told why.
  if (isAlone && served === undefined) throw failure;
  if (!isAlone || served?.runtime.kind !== 'text') {
    const list = models.list();
    console.log(repositoryBanner({ url, grpcAddress, version, models: list, control, needsKey }));
    return;
  }
  const { runtime } = served;
  const { model, how, engine, prompts } = runtime;
  const { precisionReason, deviceReason } = reasonsOf(how);
  console.log(
    banner({
      url,
      grpcAddress,
      version,
      modelName: model.id,
      manifest: how.manifest,
      precisionReason,
      kernelSet: how.kernels.description,
      adapter: how.chosenDevice.adapter,
      deviceReason,
      info: engine.info,
      limits: how.limits,
      attention: how.attention,
      canChat: prompts.canChat,
      needsKey,
    }),
  );
}

function reasonsOf({ choice, chosenDevice }: LoadedText['how']) {
  return { precisionReason: choice.reason, deviceReason: chosenDevice.reason };
}
