/** Streams of models that have to be loaded first: they begin meanwhile, so that no proxy cuts them. */
import type { ServedText } from '../runtimes.ts';
import type { AcquiredModel } from '../model-access.ts';

/** Whether the model is not there within the time after which a client must hear something. */
export async function isLoading(acquiring: Promise<unknown>, silenceMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(true), silenceMs);
  });
  const settled = acquiring.then(
    () => false,
    () => false,
  );
  try {
    return await Promise.race([settled, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The events of a model once it is there. */
export async function* eventsWhenLoaded<Event>(
  acquiring: Promise<AcquiredModel>,
  eventsOf: (model: ServedText) => Promise<AsyncIterable<Event>>,
): AsyncGenerator<Event, void> {
  const { model } = await acquiring;
  yield* await eventsOf(model);
}
