/** Models that are loaded ahead of their first request: at the start, or at a time of each day. */
import type { Logger } from 'pino';
import type { ModelRegistry } from '../../front/registry/model-registry.ts';
import type { LoadedModel } from '../loading/model-loader.ts';
import { NEVER_ABORTED } from '../../front/never-aborted.ts';

export interface Preload {
  /** Name of a model or an alias. */
  readonly name: string;
  /** Minutes after midnight where the server is; null is at the start. */
  readonly minutes: number | null;
}

const MS_PER_MINUTE = 60_000;

/**
 * Does not wait for them. What can't be loaded is logged, and tried again at its next time.
 * @returns ends that
 */
export function preloadModels(
  preloads: readonly Preload[],
  models: Pick<ModelRegistry<LoadedModel>, 'acquire'>,
  logger: Logger,
  now: () => Date = () => new Date(),
): () => void {
  const timers = new Map<string, NodeJS.Timeout>();
  const load = async (name: string): Promise<void> => {
    const caller = { client: '', signal: NEVER_ABORTED };
    try {
      const { definition, release } = await models.acquire(name, caller);
      release();
      logger.info({ model: definition.name }, 'model preloaded');
    } catch (error) {
      logger.warn({ model: name, err: error }, 'the model could not be preloaded');
    }
  };
  const loadDaily = (name: string, minutes: number): void => {
    const timer = setTimeout(
      () => {
        void load(name);
        loadDaily(name, minutes);
      },
      msUntil(minutes, now()),
    ).unref();
    timers.set(`${name}=${minutes}`, timer);
  };
  for (const { name, minutes } of preloads) {
    if (minutes === null) void load(name);
    else loadDaily(name, minutes);
  }
  return () => {
    for (const timer of timers.values()) clearTimeout(timer);
  };
}

/**
 * Milliseconds until the clock shows that many minutes after midnight again, a minute at least after it
 * did.
 */
export function msUntil(minutes: number, now: Date): number {
  const next = new Date(now);
  next.setHours(0, minutes, 0, 0);
  if (next.getTime() - now.getTime() < MS_PER_MINUTE) next.setDate(next.getDate() + 1);
  return next.getTime() - now.getTime();
}
