export interface StreamWatcher<T> {
  onValue(value: T): void;
  /** Called once: at the end, at a failure, or when nobody wants more. */
  onEnd(): void;
}

/** `source`, watched. Written by hand for the same reason as `mapStream`: one promise for a value. */
export function watchStream<T>(
  source: AsyncIterableIterator<T, void>,
  watcher: StreamWatcher<T>,
): AsyncIterableIterator<T, void> {
  let hasEnded = false;
  const end = (): void => {
    if (!hasEnded) watcher.onEnd();
    hasEnded = true;
  };
  const see = (result: IteratorResult<T, void>): IteratorResult<T, void> => {
    if (result.done === true) end();
    else watcher.onValue(result.value);
    return result;
  };
  const fail = (error: unknown): never => {
    end();
    throw error;
  };
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: () => source.next().then(see, fail),
    async return() {
      end();
      await source.return?.();
      return { done: true, value: undefined };
    },
  };
}
