import { fileURLToPath } from 'node:url';
import { Command, Option } from 'commander';
import { ModelRegistry } from '../front/registry/model-registry.ts';
import { LIMITS } from '../limits.ts';
import { flushTraces } from '../observability/flush-traces.ts';
import { createLogger } from '../observability/logger.ts';
import { NO_ALIASES, VLLM_ALIASES } from '../observability/aliases.ts';
import { MetricsHub } from '../observability/metrics-hub.ts';
import { sloMetrics } from '../observability/slo/slo-metrics.ts';
import { SloTracker } from '../observability/slo/slo-tracker.ts';
import { lineWork } from '../server/batches/line-runner.ts';
import type { ServerContext } from '../server/context.ts';
import { InferenceStatistics } from '../server/generation/inference-statistics.ts';
import { BodyReader } from '../server/http/request-body.ts';
import { LoopMonitor } from '../server/operating/loop-monitor.ts';
import { RunningRequests } from '../server/operating/running-requests.ts';
import { ResponseStore } from '../server/responses/store.ts';
import { StatusSampler } from '../server/status/sampler.ts';
import { Troubles } from '../server/status/troubles.ts';
import { ServiceTiers } from '../server/tiers/service-tiers.ts';
import { readPageFiles } from '../server/ui/page-files.ts';
import { WebSocketHub } from '../server/websocket/hub.ts';
import { openAccess } from './access.ts';
import { banner, repositoryBanner } from './banner.ts';
import { addOptions, type Options, readOptions } from './options.ts';
import { openKvEvents } from './kv-events.ts';
import { openBatches } from './open-batches.ts';
import { openRates, ratesOf } from './rates.ts';
import { openResumption, ownAddress } from './resumption.ts';
import { onDumpSignal } from './dump.ts';
import { FolderFacts } from './folder-facts.ts';
import { followRepository } from './follow-repository.ts';
import { logRegistryEvent } from './log-registry.ts';
import { LiveOptions } from './live-options.ts';
import { openPorts, type Ports } from './open-ports.ts';
import { onReloadSignal } from './reload.ts';
import { preloadModels } from './preload-models.ts';
import { readPinnedPrompts } from './pin-prompts.ts';
import { pullInto } from './pull-into.ts';
import { modelControl, servedModels } from './served-models.ts';
import { changingConfig, serverConfig } from './server-config.ts';
import { ServingPhase } from './serving-phase.ts';
import { SERVE_FLAGS } from './serve-flags.ts';
import { openSharedState } from './shared-state.ts';
import { readServiceClasses } from './slo.ts';
import { watchTargets } from './watch-targets.ts';
import { onShutdownSignal } from './shutdown.ts';
import { type LoadedText, TextModelLoader } from './text-model-loader.ts';
import { EncoderLoader } from './encoder-loader.ts';
import { AnyModelLoader, type LoadedModel } from './model-loader.ts';
import { describeTuning } from './tuning.ts';
import { packageVersion } from './version.ts';

/** What `npm run build` makes of `web`; the same seen from `src/cli` and from `dist/cli`. */
const PAGE_FOLDER = fileURLToPath(new URL('../../dist/web', import.meta.url));

/**
 * `chairlift serve`: the server.
 * @param onReady told when it serves
 */
export function serveCommand(onReady: (ports: Ports) => void = () => {}): Command {
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
  return addOptions(command, SERVE_FLAGS).action(async () =>
    onReady(await serve(await LiveOptions.open(command, readServeOptions))),
  );
}

type ServeOptions = Omit<Options, 'model'> & { readonly model?: readonly string[] };

function readServeOptions(command: Command): ServeOptions {
  const { model } = command.opts<{ model?: readonly string[] }>();
  const { model: _, ...options } = readOptions(command);
  return { ...options, ...(model === undefined ? {} : { model }) };
}

async function serve(live: LiveOptions<ServeOptions>): Promise<Ports> {
  const { options } = live;
  const logger = createLogger(options.logLevel, options.logFormat);
  const classes = await readServiceClasses(options.slo);
  const access = await openAccess(options, logger, classes);
  const version = await packageVersion();
  const { definitions, aliases } = await servedModels(options, logger);
  const control = modelControl(options);
  const statistics = new InferenceStatistics();
  const metrics = new MetricsHub({
    withProcess: true,
    models: () => models.list(),
    aliases: options.metricsAliases === 'vllm' ? VLLM_ALIASES : NO_ALIASES,
  });
  const tiers = new ServiceTiers(classes, (client) => access.keys.classOf(client));
  const targets = new SloTracker(classes.classes);
  metrics.add(sloMetrics(targets));
  const shared = await openSharedState(options, metrics, logger);
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
      targets,
      classOf: (client) => tiers.grant(client),
      isShared,
      kvEvents,
      prefetch: options.prefetch === undefined ? [] : await readPinnedPrompts(options.prefetch),
    }),
    new EncoderLoader({ options: flags, logger, isShared, embeddings: shared.embeddings }),
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
  watchTargets(targets, models, logger);

  const resumption = openResumption(options, shared.redis, logger);
  const facts = new FolderFacts(options.maxModelLen ?? null);
  const phase = new ServingPhase();
  const config = serverConfig(options, version);
  const rates = ratesOf(options);
  const batches = await openBatches(options, tiers.last);
  const troubles = new Troubles(LIMITS.rememberedErrors);
  const { answers } = shared;
  const context: ServerContext = {
    models,
    startedAt: Math.floor(Date.now() / 1000),
    bodies: new BodyReader(options.maxBody),
    responses: new ResponseStore(options.responseStoreSize),
    config,
    keys: access.keys,
    tiers,
    metrics,
    statistics,
    logger,
    rates: openRates(rates, access.keys, metrics, shared.redis),
    usage: shared.usage,
    answers,
    troubles,
    status: new StatusSampler({ models, answers, troubles, metrics }).start(),
    settings: () => live.settings,
    running: new RunningRequests(),
    resumption,
    loop: new LoopMonitor(),
    describeModel: (definition) => facts.of(definition),
    pullModel: pullInto(models, options),
    page: options.ui ? await readPageFiles(PAGE_FOLDER) : null,
    ...(batches === undefined ? {} : { batches }),
    isLeaving: () => phase.isLeaving,
    isDraining: () => phase.isDraining,
  };
  // Before models are built, which can take long: a taken port is reported at once, and probes
  // get 503.
  const webSockets = new WebSocketHub(context);
  const loading = models.preload();
  batches?.start(lineWork(context));
  const ports = await openPorts(context, webSockets, access.tls, options);
  resumption?.handover?.enter(ownAddress(ports.url, options));
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
      async stopTaking() {
        // What is not done is taken up by the next server.
        await batches?.close();
        const admissions = models.loaded().map(({ runtime }) => runtime.admission);
        for (const admission of admissions) admission.close();
        resumption?.handover?.begin();
        await Promise.all(admissions.map((admission) => admission.onIdle()));
        await resumption?.handover?.onPassedOn();
      },
      async close(graceMs) {
        await ports.close(graceMs);
        if (resumption?.handover) logger.info(resumption.handover.counts, 'answers handed over');
        await flushTraces();
        await models.close();
        kvEvents?.close();
        shared.redis?.close();
      },
    }),
  );
  if (options.modelRepository !== undefined && (control === 'auto' || control === 'poll')) {
    followRepository(options, models, logger);
  }

  await loading;
  preloadModels(options.preload ?? [], models, logger);
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
    return ports;
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
      tuned: how.tuning && describeTuning(how.tuning),
      adapter: how.chosenDevice.adapter,
      deviceReason,
      info: engine.info,
      limits: how.limits,
      attention: how.attention,
      canChat: prompts.canChat,
      needsKey,
    }),
  );
  return ports;
}

function reasonsOf({ choice, chosenDevice }: LoadedText['how']) {
  return { precisionReason: choice.reason, deviceReason: chosenDevice.reason };
}
