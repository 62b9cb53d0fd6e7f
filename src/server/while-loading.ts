/** Streams of models that have to be loaded first: they begin meanwhile, so that no proxy cuts them. */
import type { ModelContext, ServerConfig } from './context.ts';
import type { AcquiredModel } from './model-access.ts';

/** Whether a body wants its answer as a stream. */
export function wantsStream(json: unknown): boolean {
  return typeof json === 'object' && json !== null && 'stream' in json && json.stream === true;
}

/** Whether the model is not there within the time after which a silent stream gets a comment. */
export async function isLoading(
  acquiring: Promise<unknown>,
  { ssePingMs }: Pick<ServerConfig, 'ssePingMs'>,
): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(true), ssePingMs);
  });
  const settled = acquiring.then(
    () => false,
    () => false,
  );
  const isLate = await Promise.race([settled, late]);
  clearTimeout(timer);
  return isLate;
}

/** The events of a model once it is there; it is let go when they end. */
export async function* eventsWhenLoaded<Event>(
  acquiring: Promise<AcquiredModel>,
  eventsOf: (model: ModelContext) => Promise<AsyncIterable<Event>>,
): AsyncGenerator<Event, void> {
  const { model, release } = await acquiring;
  try {
    yield* await eventsOf(model);
  } finally {
    release();
  }
}
