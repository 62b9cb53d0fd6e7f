/** A function that the values of a stream go through. */
interface Stage<In, Out> {
  readonly map: (value: In) => Out;
  /** Makes a value that follows the last. */
  readonly last?: (() => Out) | undefined;
  /** Called once: at the end, at a failure, or when nobody wants more. */
  readonly onEnd?: (() => void) | undefined;
}

/** Each takes what the one before it gives. */
type Map = (value: unknown) => unknown;

/**
 * A stream whose values go through a function. Written by hand, since so a token costs one promise; a
 * generator would cost three. A stream of such a stream is made of the first one's source, so that
 * many functions one after the other cost no more.
 */
class MappedStream<In, Out> implements AsyncIterableIterator<Out, void> {
  readonly #source: AsyncIterator<In, void>;
  /** One after the other: closures within closures take several times as long. */
  readonly #maps: readonly Map[];
  readonly #last: Stage<In, Out>['last'];
  readonly #onEnd: Stage<In, Out>['onEnd'];
  #hasEnded = false;
  #isOver = false;

  private constructor(
    source: AsyncIterator<In, void>,
    maps: readonly Map[],
    { last, onEnd }: Omit<Stage<In, Out>, 'map'>,
  ) {
    this.#source = source;
    this.#maps = maps;
    this.#last = last;
    this.#onEnd = onEnd;
  }

  static of<In, Out>(source: AsyncIterator<In, void>, stage: Stage<In, Out>) {
    return new MappedStream<In, Out>(source, [stage.map as Map], stage);
  }

  /** Null where its last value has to go through a further function too. */
  through<Next>({ map, last, onEnd }: Stage<Out, Next>): MappedStream<In, Next> | null {
    if (this.#last !== undefined) return null;
    const first = this.#onEnd;
    return new MappedStream<In, Next>(this.#source, [...this.#maps, map as Map], {
      last,
      onEnd() {
        first?.();
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
        let value: unknown = result.value;
        for (const map of this.#maps) value = map(value);
        return { done: false, value: value as Out };
      } catch (error) {
        // Whoever iterates will not: to it the iteration has failed by itself.
        return this.return().then(() => {
          throw error;
        });
      }
    }
    this.#end();
    const last = this.#last;
    if (last === undefined || this.#isOver) return result;
    this.#isOver = true;
    return { done: false, value: last() };
  };

  readonly #fail = (error: unknown): never => {
    this.#end();
    throw error;
  };

  #end(): void {
    if (!this.#hasEnded) this.#onEnd?.();
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
  return joined ?? MappedStream.of(source, stage);
}
