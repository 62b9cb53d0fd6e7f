/** A server, put together from its settings. */
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { AudioPool } from '../../front/audio/audio-pool.ts';
import { ImagePool } from '../../front/images/image-pool.ts';
import { ModelRegistry } from '../../front/registry/model-registry.ts';
import { LIMITS } from '../../limits.ts';
import { NO_ALIASES, VLLM_ALIASES } from '../../observability/aliases.ts';
import { flushTraces } from '../../observability/flush-traces.ts';
import { MetricsHub } from '../../observability/metrics-hub.ts';
import { sloMetrics } from '../../observability/slo/slo-metrics.ts';
import { SloTracker } from '../../observability/slo/slo-tracker.ts';
import { lineWork } from '../../server/batches/line-runner.ts';
import type { ServerContext } from '../../server/context.ts';
import { InferenceStatistics } from '../../server/generation/inference-statistics.ts';
import { ConnectionPlaces } from '../../server/http/connection-places.ts';
import { BodyReader } from '../../server/http/request-body.ts';
import { UnreadAnswers } from '../../server/http/unread-answers.ts';
import { LoopMonitor } from '../../server/operating/loop-monitor.ts';
import { RunningRequests } from '../../server/operating/running-requests.ts';
import { ResponseStore } from '../../server/responses/store.ts';
import { StatusSampler } from '../../server/status/sampler.ts';
import { Troubles } from '../../server/status/troubles.ts';
import { grantedClass, ServiceTiers } from '../../server/tiers/service-tiers.ts';
import { readPageFiles } from '../../server/ui/page-files.ts';
import { WebSocketHub } from '../../server/web-socket-hub.ts';
import type { Settings } from '../../settings/settings.ts';
import { Closers } from '../closers.ts';
import { EncoderLoader } from '../loading/encoder-loader.ts';
import { AnyModelLoader, type LoadedModel } from '../loading/model-loader.ts';
import { readPinnedPrompts } from '../loading/pin-prompts.ts';
import { TextModelLoader } from '../loading/text-model-loader.ts';
import { servedLora, warnOfMissing } from '../plan/lora.ts';
import { SlowNotice } from '../progress/slow-notice.ts';
import { packageVersion } from '../version.ts';
import { openAccess } from './access.ts';
import { FolderFacts } from './folder-facts.ts';
import { followRepository } from './follow-repository.ts';
import { openKvEvents } from './kv-events.ts';
import { imageSources } from './image-sources.ts';
import { logRegistryEvent } from './log-registry.ts';
import { openBatches } from './open-batches.ts';
import { openPorts, type Ports } from './open-ports.ts';
import { preloadModels } from './preload-models.ts';
import { pullInto } from './pull-into.ts';
import { openRates, ratesOf } from './rates.ts';
import { openResumption, ownAddress } from './resumption.ts';
import { modelControl, servedModels, servedNames } from './served-models.ts';
import { changingConfig, serverConfig } from './server-config.ts';
import { ServingPhase } from './serving-phase.ts';
import { openSharedState } from './shared-state.ts';
import { readServiceClasses } from './slo.ts';
import { watchTargets } from './watch-targets.ts';

/** The page as `npm run build` makes it of `web`; the same seen from `src` and from `dist`. */
const PAGE_FOLDER = fileURLToPath(new URL('../../../dist/web', import.meta.url));

/** A server whose ports are open. */
export interface OpenServer {
  readonly ports: Ports;
  readonly context: ServerContext;
  readonly metrics: MetricsHub;
  readonly models: ModelRegistry<LoadedModel>;
  /** Fulfilled once the models are loaded. @throws why the only model could not be */
  readonly ready: Promise<void>;
  /** Reads keys, certificates and the configuration file again. What is invalid is logged, and stays. */
  reload(): Promise<void>;
  /** Finishes what is running, within the time of its settings, and closes everything. */
  drain(): Promise<void>;
}

/**
 * @returns once its ports are open. Models load meanwhile: that can take long, and probes get 503.
 * @throws UserError for settings and files that are wrong; then nothing stays open
 */
export async function openServer(settings: Settings<'serve'>, logger: Logger): Promise<OpenServer> {
  const closers = new Closers();
  try {
    return await openParts(settings, logger, closers);
  } catch (error) {
    await closers.close();
    throw error;
  }
}

async function openParts(
  settings: Settings<'serve'>,
  logger: Logger,
  closers: Closers,
): Promise<OpenServer> {
  const { options } = settings;
  for (const note of settings.notes) logger.warn(note);
  const classes = await readServiceClasses(options.slo);
  const access = await openAccess(options, logger, classes);
  const version = await packageVersion();
  await warnOfMissing(options, logger);
  const served = await servedModels(options, logger);
  const { definitions, aliases } = served;
  const lora = servedLora(options, servedNames(options, served));
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
  closers.add(() => shared.redis?.close());
  const maxModels = control === 'auto' ? options.modelsMax : Infinity;
  const isShared = () => access.keys.numClients > 1;
  const places = new ConnectionPlaces({
    maxConnections: options.maxConnections,
    maxConnectionsPerAddress: options.maxConnectionsPerAddress ?? null,
  });
  const kvEvents = await openKvEvents(options, places);
  closers.add(() => kvEvents?.close());
  const images = new ImagePool();
  closers.add(() => images.close());
  const audio = new AudioPool();
  closers.add(() => audio.close());
  const encoders = new EncoderLoader({
    options,
    logger,
    isShared,
    images,
    embeddings: shared.embeddings,
    tensors: shared.tensors,
  });
  const loader = new AnyModelLoader(
    new TextModelLoader({
      options,
      numModels: Math.min(definitions.length, maxModels),
      logger,
      metrics,
      statistics,
      targets,
      classOf: (caller) => grantedClass(tiers, caller),
      isShared,
      images,
      kvEvents: kvEvents?.publisher ?? null,
      lora,
      prefetch: options.prefetch === undefined ? [] : await readPinnedPrompts(options.prefetch),
    }),
    encoders,
  );
  const [only, another] = options.modelRepository === undefined ? definitions : [];
  const isAlone = only !== undefined && another === undefined;
  // A fault of the only model is reported before the server exists.
  const notice = new SlowNotice((what) => logger.info(`${what} ...`));
  if (isAlone) await notice.during(`opening ${only.name}`, loader.estimate(only));
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
  closers.add(() => models.close());
  closers.add(flushTraces);
  await models.update(definitions, aliases);
  closers.add(watchTargets(targets, models, logger));

  const resumption = await openResumption(options, shared.redis, logger);
  const facts = new FolderFacts(options.maxModelLen ?? null);
  const phase = new ServingPhase();
  const config = serverConfig(options, version);
  const rates = ratesOf(options);
  const batches = await openBatches(options, tiers.last);
  closers.add(() => batches?.close());
  const troubles = new Troubles(LIMITS.rememberedErrors);
  const { answers } = shared;
  const status = new StatusSampler({ models, answers, troubles, metrics }).start();
  const loop = new LoopMonitor();
  closers.add(() => {
    status.close();
    loop.close();
  });
  const context: ServerContext = {
    models,
    adapters: lora.shelf,
    startedAt: Math.floor(Date.now() / 1000),
    bodies: new BodyReader(options.maxBody),
    unread: new UnreadAnswers((client, bytes) => {
      metrics.countCut('share');
      logger.warn({ client, bytes }, 'an answer was cut: its client did not read');
    }),
    images: imageSources(options, batches, logger),
    audio,
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
    status,
    settings: () => settings.list(),
    running: new RunningRequests(),
    resumption,
    loop,
    describeModel: (definition) => facts.of(definition),
    pullModel: pullInto(models, options),
    page: options.ui ? await readPageFiles(PAGE_FOLDER, options.rootPath) : null,
    ...(batches === undefined ? {} : { batches }),
    isLeaving: () => phase.isLeaving,
    isDraining: () => phase.isDraining,
  };
  const webSockets = new WebSocketHub(context);
  // A taken port is reported before models are built, which can take long.
  const loading = models.preload();
  batches?.start(lineWork(context), (client) => access.keys.isKnown(client));
  const ports = await openPorts(context, webSockets, access.tls, { ...options, places });
  // Closed already where the server ends in order.
  closers.add(() => ports.close(0));
  resumption?.handover?.enter(ownAddress(ports.url, options));
  if (options.modelRepository !== undefined && (control === 'auto' || control === 'poll')) {
    closers.add(followRepository(options, models, logger));
  }
  const ready = loading.then(() => {
    if (phase.isDraining) return;
    closers.add(preloadModels(options.preload ?? [], models, logger));
    // The server has nothing to serve, and its operator is there to read why.
    if (isAlone && models.loaded().length === 0) throw failure;
  });
  // A rejection reaches those who wait for it.
  ready.catch(() => {});

  return {
    ports,
    context,
    metrics,
    models,
    ready,
    async reload() {
      const isConfigured = await settings.reload(logger);
      logger.level = options.logLevel;
      Object.assign(config, changingConfig(options));
      Object.assign(rates, ratesOf(options));
      await access.reload({
        isConfigured,
        onKeys() {
          webSockets.dropRevoked();
          void batches?.reconcile();
        },
        setTls: (renewed) => ports.setTls(renewed),
      });
    },
    drain: () =>
      phase.end({
        delayMs: options.drainDelay * 1000,
        timeoutMs: options.shutdownTimeout * 1000,
        running: context.running,
        logger,
        async stopTaking() {
          // Clients that send more on them are refused here, and find another server by a new one. With a hand-over
          // another server answers.
          if (!resumption?.handover) ports.drain();
          // Lines that are not done are taken up by the next server.
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
          await closers.close();
        },
      }),
  };
}
