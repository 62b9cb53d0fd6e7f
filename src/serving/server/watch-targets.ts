import type { Logger } from 'pino';
import type { ModelRegistry } from '../../front/registry/model-registry.ts';
import { SloMonitor } from '../../observability/slo/slo-monitor.ts';
import type { SloTracker } from '../../observability/slo/slo-tracker.ts';
import type { LoadedModel } from '../loading/model-loader.ts';

const EVERY_MS = 10_000;

/** Logs it when a service class misses its targets. @returns ends that */
export function watchTargets(
  targets: SloTracker,
  models: Pick<ModelRegistry<LoadedModel>, 'loaded'>,
  logger: Logger,
): () => void {
  const pressure = () => {
    const stats = models
      .loaded()
      .flatMap(({ runtime }) => (runtime.kind === 'text' ? [runtime.engine.stats] : []));
    return {
      kvCacheUsage: Math.max(0, ...stats.map(({ kvCacheUsage }) => kvCacheUsage)),
      numPreemptions: stats.reduce((sum, { numPreemptions }) => sum + numPreemptions, 0),
    };
  };
  return new SloMonitor(targets, pressure, logger).start(EVERY_MS);
}
