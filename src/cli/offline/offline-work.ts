/** Computes the lines of a batch as a server does, without one. */
import { AudioPool } from '../../front/audio/audio-pool.ts';
import { ImageSources } from '../../front/images/image-sources.ts';
import { ModelRegistry } from '../../front/registry/model-registry.ts';
import { serviceClasses } from '../../front/service-classes/service-class.ts';
import { LIMITS } from '../../limits.ts';
import { createLogger } from '../../observability/logger.ts';
import { MetricsHub } from '../../observability/metrics-hub.ts';
import { SloTracker } from '../../observability/slo/slo-tracker.ts';
import { ApiKeys } from '../../server/auth/api-keys.ts';
import { lineWork } from '../../server/batches/line-runner.ts';
import type { LineWork } from '../../server/batches/line-work.ts';
import type { ServerContext } from '../../server/context.ts';
import { DEFAULT_SERVER_CONFIG } from '../../server/config.ts';
import { InferenceStatistics } from '../../server/generation/inference-statistics.ts';
import { BodyReader } from '../../server/http/request-body.ts';
import { RunningRequests } from '../../server/operating/running-requests.ts';
import { RateLimits } from '../../server/rates/rate-limits.ts';
import { NO_RATES } from '../../server/auth/key-rates.ts';
import { Usage } from '../../server/rates/usage.ts';
import { ResponseStore } from '../../server/responses/store.ts';
import { StatusSampler } from '../../server/status/sampler.ts';
import { Troubles } from '../../server/status/troubles.ts';
import { grantedClass, ServiceTiers } from '../../server/tiers/service-tiers.ts';
import { findServable } from '../../serving/models/find-model.ts';
import type { LoadingOption } from '../../settings/flag-sets.ts';
import { defaultModel } from '../../serving/models/model-source.ts';
import type { Options } from '../../settings/options.ts';
import { ownDefinition } from '../../serving/models/own-definition.ts';
import { SlowNotice } from '../../serving/progress/slow-notice.ts';
import { servedLora } from '../../serving/plan/lora.ts';
import { aloneWith } from '../../serving/loading/alone.ts';
import { type LoadedText, TextModelLoader } from '../../serving/loading/text-model-loader.ts';
import { packageVersion } from '../../serving/version.ts';
import { UnreadAnswers } from '../../server/http/unread-answers.ts';

/**
 * Loads the model of `options`, which all lines are for, whatever they call it.
 * @throws UsageError, ModelError, TokenizerError, EngineError
 */
export async function offlineWork(
  options: Options<LoadingOption | 'model' | 'modelRepository'>,
): Promise<{ readonly work: LineWork; readonly stop: () => Promise<void> }> {
  const logger = createLogger('warn');
  const metrics = new MetricsHub({ withProcess: false, models: () => [] });
  const statistics = new InferenceStatistics();
  const classes = serviceClasses();
  const tiers = new ServiceTiers(classes);
  const wanted = options.model ?? defaultModel(options.randomWeights !== undefined);
  const definition = ownDefinition(await findServable(wanted, options));
  const { name } = definition;
  const lora = servedLora(options, { names: new Set([name]), aliases: [], only: name });
  const loader = new TextModelLoader({
    ...aloneWith(options, logger),
    lora,
    metrics,
    statistics,
    targets: new SloTracker(classes.classes),
    classOf: (caller) => grantedClass(tiers, caller),
  });
  let failure: unknown;
  const notice = new SlowNotice();
  const models = new ModelRegistry<LoadedText>({
    loader,
    control: 'none',
    maxModels: 1,
    maxBytes: Infinity,
    keepAliveMs: Infinity,
    maxWaiting: 0,
    onEvent(event) {
      if (event.type === 'failed') failure = event.error;
      // A build has a bar of its own.
      if (event.type === 'loading' && event.model.state === 'building') notice.end();
      else if (event.type === 'loading') notice.begin(`loading ${event.model.name}`);
    },
  });
  await models.update([definition], new Map());
  await models.preload();
  notice.end();
  if (models.loaded().length === 0) throw failure;
  const troubles = new Troubles(LIMITS.rememberedErrors);
  const context: ServerContext = {
    models,
    adapters: lora.shelf,
    startedAt: Math.floor(Date.now() / 1000),
    bodies: new BodyReader(0),
    unread: new UnreadAnswers(),
    // No server is asked, and no file is read, because a line of a batch says so.
    images: ImageSources.ofRequestsAlone(),
    // Lines are of other routes: it never starts a process.
    audio: new AudioPool(),
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
