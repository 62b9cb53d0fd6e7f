/**
 * What `map` makes of each value of `source`, and at its end `last`. Written by hand, since per token
 * it costs one promise, where an async generator costs three.
 */
export function mapStream<In, Out>(
  source: AsyncIterableIterator<In, void>,
  map: (value: In) => Out,
  last?: () => Out,
): AsyncIterableIterator<Out, void> {
  let end = last;
  const close = async (): Promise<void> => {
    end = undefined;
    await source.return?.();
  };
  const toResult = (
    result: IteratorResult<In, void>,
  ): IteratorResult<Out, void> | Promise<IteratorResult<Out, void>> => {
    if (result.done !== true) {
      try {
        return { done: false, value: map(result.value) };
      } catch (error) {
        // Whoever iterates will not: to it the iteration has failed by itself.
        return close().then(() => {
          throw error;
        });
      }
    }
    if (end === undefined) return result;
    const value = end();
    end = undefined;
    return { done: false, value };
  };
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: () => source.next().then(toResult),
    async return() {
      await close();
      return { done: true, value: undefined };
    },
  };
}
