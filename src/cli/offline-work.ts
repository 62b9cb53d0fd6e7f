/** What a server does for the lines of a batch, without one. */
import { ModelRegistry } from '../front/registry/model-registry.ts';
import { serviceClasses } from '../front/service-classes/service-class.ts';
import { LIMITS } from '../limits.ts';
import { createLogger } from '../observability/logger.ts';
import { MetricsHub } from '../observability/metrics-hub.ts';
import { SloTracker } from '../observability/slo/slo-tracker.ts';
import { ApiKeys } from '../server/auth/api-keys.ts';
import { lineWork } from '../server/batches/line-runner.ts';
import type { LineWork } from '../server/batches/line-work.ts';
import { DEFAULT_SERVER_CONFIG, type ServerContext } from '../server/context.ts';
import { InferenceStatistics } from '../server/generation/inference-statistics.ts';
import { BodyReader } from '../server/http/request-body.ts';
import { RunningRequests } from '../server/operating/running-requests.ts';
import { NO_RATES, RateLimits } from '../server/rates/rate-limits.ts';
import { Usage } from '../server/rates/usage.ts';
import { ResponseStore } from '../server/responses/store.ts';
import { StatusSampler } from '../server/status/sampler.ts';
import { Troubles } from '../server/status/troubles.ts';
import { ServiceTiers } from '../server/tiers/service-tiers.ts';
import { defaultModel, nameOfModel } from './model-source.ts';
import type { Options } from './options.ts';
import { type LoadedText, TextModelLoader } from './text-model-loader.ts';
import { packageVersion } from './version.ts';

/**
 * Loads the model of `options`, which all lines are for, whatever they call it.
 * @throws UsageError, ModelError, TokenizerError, EngineError
 */
export async function offlineWork(
  options: Options,
): Promise<{ readonly work: LineWork; readonly stop: () => Promise<void> }> {
  const logger = createLogger('warn');
  const metrics = new MetricsHub({ withProcess: false, models: () => [] });
  const statistics = new InferenceStatistics();
  const classes = serviceClasses();
  const tiers = new ServiceTiers(classes);
  const loader = new TextModelLoader({
    options,
    numModels: 1,
    logger,
    metrics,
    statistics,
    targets: new SloTracker(classes.classes),
    classOf: (client) => tiers.grant(client),
    isShared: () => false,
    kvEvents: null,
  });
  let failure: unknown;
  const models = new ModelRegistry<LoadedText>({
    loader,
    control: 'none',
    maxModels: 1,
    maxBytes: Infinity,
    keepAliveMs: Infinity,
    maxWaiting: 0,
    onEvent(event) {
      if (event.type === 'failed') failure = event.error;
    },
  });
  const source = options.model ?? defaultModel(options.randomWeights !== undefined);
  const definition = {
    name: nameOfModel(source),
    version: '1',
    source,
    flags: {},
    instances: 1,
    preload: true,
    keepAliveMs: null,
    fingerprint: '',
    problem: null,
  };
  await models.update([definition], new Map());
  await models.preload();
  if (models.loaded().length === 0) throw failure;
  const troubles = new Troubles(LIMITS.rememberedErrors);
  const context: ServerContext = {
    models,
    startedAt: Math.floor(Date.now() / 1000),
    bodies: new BodyReader(0),
    responses: new ResponseStore(0),
    config: { ...DEFAULT_SERVER_CONFIG, version: await packageVersion() },
    keys: new ApiKeys(),
    tiers,
    metrics,
    statistics,
    logger,
    rates: new RateLimits({ rates: NO_RATES }),
    usage: new Usage(),
    answers: null,
    troubles,
    // Nobody looks at it.
    status: new StatusSampler({ models, answers: null, troubles, metrics }),
    settings: () => [],
    running: new RunningRequests(),
    loop: { stalledMs: 0 },
    isLeaving: () => false,
    isDraining: () => false,
  };
  const work = lineWork(context);
  return {
    work: {
      ...work,
      run(line, endpoint, caller) {
        const { model: _, ...body } = line.body;
        return work.run({ ...line, body }, endpoint, caller);
      },
    },
    stop: () => models.close(),
  };
}
