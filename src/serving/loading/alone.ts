import type { Logger } from 'pino';
import { serviceClasses } from '../../front/service-classes/service-class.ts';
import { createLogger } from '../../observability/logger.ts';
import { MetricsHub } from '../../observability/metrics-hub.ts';
import { SloTracker } from '../../observability/slo/slo-tracker.ts';
import { InferenceStatistics } from '../../server/generation/inference-statistics.ts';
import type { LoadingOption } from '../../settings/flag-sets.ts';
import type { Options } from '../../settings/options.ts';
import type { TextModelLoaderOptions } from './text-model-loader-options.ts';

/** For a loader of one model without a server: nobody watches it, and one client has it. */
export function aloneWith(
  options: Options<LoadingOption>,
  logger: Logger = createLogger('warn'),
): TextModelLoaderOptions {
  return {
    options,
    numModels: 1,
    logger,
    metrics: new MetricsHub({ withProcess: false, models: () => [] }),
    statistics: new InferenceStatistics(),
    targets: new SloTracker([]),
    classOf: () => serviceClasses().usual,
    isShared: () => false,
    kvEvents: null,
  };
}
