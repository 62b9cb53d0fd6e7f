import type { Logger } from 'pino';
import type { MetricsHub } from '../../observability/metrics-hub.ts';

/** Errors are logged no closer to each other: a client that can cause one must not fill the disk. */
const LOG_EVERY_MS = 1000;

/**
 * From now on an error that nothing caught is counted and logged, and ends no more than the request that
 * made it: every other client's stream goes on. Node.js itself would end the process.
 */
export function surviveErrors(logger: Logger, metrics: MetricsHub): void {
  let loggedAt = -Infinity;
  let numUnlogged = 0;
  process.setUncaughtExceptionCaptureCallback((error) => {
    metrics.countUncaught();
    const now = performance.now();
    if (now - loggedAt < LOG_EVERY_MS) {
      numUnlogged++;
      return;
    }
    const more = numUnlogged === 0 ? {} : { notLogged: numUnlogged };
    logger.error({ err: error, ...more }, 'an error that nothing caught; the server goes on');
    loggedAt = now;
    numUnlogged = 0;
  });
}
