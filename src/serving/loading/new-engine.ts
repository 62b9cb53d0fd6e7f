import type { Logger } from 'pino';
import { EngineClient } from '../../front/engine-process/engine-client.ts';
import type { EngineClientOptions } from '../../front/engine-process/engine-client-options.ts';
import { EngineInstances } from '../../front/engine-process/engine-instances.ts';
import type { KvEventPublisher } from '../../front/kv-events/kv-event-publisher.ts';

export interface NewEngineOptions {
  /** The name that clients use. */
  readonly model: string;
  /** Engine processes. */
  readonly instances: number;
  /** Seconds. */
  readonly stepTimeout: number;
  readonly logger: Logger;
  readonly kvEvents: KvEventPublisher | null;
}

/** The engine of a model, in a process or in several; not started yet. */
export function newEngine({
  model,
  instances,
  stepTimeout,
  logger,
  kvEvents,
}: NewEngineOptions): EngineClient | EngineInstances {
  const options: EngineClientOptions = {
    stepTimeoutMs: stepTimeout * 1000,
    onCrash: (description, unfinished) =>
      logger.error({ model, description, unfinished }, 'the engine process died; starting another'),
  };
  const blocksOf = (index: number) =>
    kvEvents?.listener(model, () => engine.info.kvBlockTokens, index);
  const engine: EngineClient | EngineInstances =
    instances === 1
      ? new EngineClient({ ...options, blocks: blocksOf(0) })
      : new EngineInstances(instances, options, blocksOf);
  return engine;
}
