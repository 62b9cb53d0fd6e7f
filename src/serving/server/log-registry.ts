import type { Logger } from 'pino';
import type { RegistryEvent } from '../../front/registry/residency.ts';
import { reasonOf } from '../../files/system-error.ts';

/** Logs the loading and unloading of models. */
export function logRegistryEvent(event: RegistryEvent, logger: Logger): void {
  const { name: model, version, state } = event.model;
  switch (event.type) {
    case 'loading':
      // A build that takes time has a progress bar.
      if (state === 'loading') logger.info({ model, version }, 'loading the model');
      else logger.debug({ model, version, state }, 'preparing the model');
      break;
    case 'loaded':
      logger.info({ model, version, seconds: event.seconds }, 'model loaded');
      break;
    case 'unloaded':
      logger.info({ model, version, wasEvicted: event.wasEvicted }, 'model unloaded');
      break;
    case 'failed': {
      const reason = reasonOf(event.error);
      logger.error({ model, version, reason }, 'model failed to load');
    }
  }
}
