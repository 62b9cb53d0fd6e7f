import type { Logger } from 'pino';
import type { RegistryEvent } from '../front/registry/residency.ts';

/** Tells the log what becomes of models. */
export function logRegistryEvent(event: RegistryEvent, logger: Logger): void {
  const { name: model, version, reason } = event.model;
  switch (event.type) {
    case 'loading':
      logger.debug({ model, version, state: event.model.state }, 'model is being loaded');
      break;
    case 'loaded':
      logger.info({ model, version, seconds: event.seconds }, 'model loaded');
      break;
    case 'unloaded':
      logger.info({ model, version, wasEvicted: event.wasEvicted }, 'model unloaded');
      break;
    case 'failed':
      logger.error({ model, version, reason }, 'model failed to load');
  }
}
