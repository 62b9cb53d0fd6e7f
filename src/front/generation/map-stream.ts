/** Functions that the values of a stream go through. */
interface Stage<In, Out> {
  readonly map: (value: In) => Out;
  /** Makes a value that follows the last. */
  readonly last?: (() => Out) | undefined;
  /** Called once: at the end, at a failure, or when nobody wants more. */
  readonly onEnd?: (() => void) | undefined;
}

/**
 * A stream whose values go through a function. Written by hand, since so a token costs one promise; a
 * generator would cost three. A stream of such a stream is made of the first one's source, so that
 * many functions one after the other cost no more.
 */
class MappedStream<In, Out> implements AsyncIterableIterator<Out, void> {
  readonly #source: AsyncIterator<In, void>;
  readonly #stage: Stage<In, Out>;
  #hasEnded = false;
  #isOver = false;

  constructor(source: AsyncIterator<In, void>, stage: Stage<In, Out>) {
    this.#source = source;
    this.#stage = stage;
  }

  /** Null where its last value has to go through a further function too. */
  through<Next>({ map, last, onEnd }: Stage<Out, Next>): MappedStream<In, Next> | null {
    const first = this.#stage;
    if (first.last !== undefined) return null;
    return new MappedStream<In, Next>(this.#source, {
      map: (value) => map(first.map(value)),
      last,
      onEnd() {
        first.onEnd?.();
        onEnd?.();
      },
    });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Out, void>> {
    return this.#source.next().then(this.#toResult, this.#fail);
  }

  async return(): Promise<IteratorResult<Out, void>> {
    this.#isOver = true;
    this.#end();
    await this.#source.return?.();
    return { done: true, value: undefined };
  }

  readonly #toResult = (
    result: IteratorResult<In, void>,
  ): IteratorResult<Out, void> | Promise<IteratorResult<Out, void>> => {
    if (result.done !== true) {
      try {
        return { done: false, value: this.#stage.map(result.value) };
      } catch (error) {
        // Whoever iterates will not: to it the iteration has failed by itself.
        return this.return().then(() => {
          throw error;
        });
      }
    }
    this.#end();
    const { last } = this.#stage;
    if (last === undefined || this.#isOver) return result;
    this.#isOver = true;
    return { done: false, value: last() };
  };

  readonly #fail = (error: unknown): never => {
    this.#end();
    throw error;
  };

  #end(): void {
    if (!this.#hasEnded) this.#stage.onEnd?.();
    this.#hasEnded = true;
  }
}

/** Maps each value of `source`, and adds the value of `last` at its end. */
export function mapStream<In, Out>(
  source: AsyncIterableIterator<In, void>,
  map: (value: In) => Out,
  last?: () => Out,
): AsyncIterableIterator<Out, void> {
  return staged(source, { map, last });
}

/** `first`, then the values of `source`; adds no promise per value. */
export function withFirst<T>(
  first: Promise<IteratorResult<T, void>>,
  source: AsyncIterableIterator<T, void>,
): AsyncIterableIterator<T, void> {
  let pending: typeof first | undefined = first;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next() {
      if (pending === undefined) return source.next();
      const result = pending;
      pending = undefined;
      return result;
    },
    async return() {
      await source.return?.();
      return { done: true, value: undefined };
    },
  };
}

/** The values of `source`, each seen by `onValue` first. */
export function watchStream<T>(
  source: AsyncIterableIterator<T, void>,
  watcher: { onValue(value: T): void; onEnd(): void },
): AsyncIterableIterator<T, void> {
  const map = (value: T): T => {
    watcher.onValue(value);
    return value;
  };
  return staged(source, { map, onEnd: () => watcher.onEnd() });
}

function staged<In, Out>(
  source: AsyncIterableIterator<In, void>,
  stage: Stage<In, Out>,
): AsyncIterableIterator<Out, void> {
  const joined = source instanceof MappedStream ? source.through(stage) : null;
  return joined ?? new MappedStream(source, stage);
}
