/** A generator, or what can be left early like one. */
export interface ReturnableStream<T> extends AsyncIterator<T, void> {
  return(): Promise<IteratorResult<T, void>>;
}

export interface Merged<T> {
  /** Which of the streams it came from. */
  readonly index: number;
  readonly value: T;
}

/**
 * The values of many streams in order of arrival. Of each stream at most one value is pulled ahead,
 * so that a slow consumer holds all of them back. Ends when all have ended; the first failure of any
 * is thrown at once. However it ends, every stream is returned, but not waited for.
 */
export async function* mergeStreams<T>(
  streams: readonly ReturnableStream<T>[],
): AsyncGenerator<Merged<T>, void> {
  const arrived: Merged<IteratorResult<T, void>>[] = [];
  const failures: unknown[] = [];
  let numLive = streams.length;
  let wake = (): void => {};
  const pull = (stream: ReturnableStream<T>, index: number): void => {
    stream
      .next()
      .then((result) => {
        arrived.push({ index, value: result });
        wake();
      })
      .catch((error: unknown) => {
        failures.push(error);
        wake();
      });
  };
  try {
    for (const [index, stream] of streams.entries()) pull(stream, index);
    while (numLive > 0) {
      if (failures.length > 0) throw failures[0];
      const next = arrived.shift();
      if (next === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      const { index, value: result } = next;
      if (result.done === true) {
        numLive--;
        continue;
      }
      yield { index, value: result.value };
      const stream = streams[index];
      if (stream) pull(stream, index);
    }
  } finally {
    for (const stream of streams) stream.return().catch(() => {});
  }
}
