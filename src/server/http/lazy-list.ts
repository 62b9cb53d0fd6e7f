/**
 * A list of an answer whose elements are made one by one as they are written: to make thousands of them
 * at once would take a whole turn of the event loop. JSON.stringify has it as an array.
 */
export class LazyList<Element> implements Iterable<Element> {
  readonly #make: () => Iterable<Element>;

  /** @param make called each time that the list is written */
  constructor(make: () => Iterable<Element>) {
    this.#make = make;
  }

  /** One element for each of `sources`. */
  static from<Source, Element>(
    sources: Iterable<Source>,
    make: (source: Source) => Element,
  ): LazyList<Element> {
    return new LazyList(function* () {
      for (const source of sources) yield make(source);
    });
  }

  /** One after the other. */
  static concat<Element>(...lists: readonly Iterable<Element>[]): LazyList<Element> {
    return new LazyList(function* () {
      for (const list of lists) yield* list;
    });
  }

  [Symbol.iterator](): Iterator<Element> {
    return this.#make()[Symbol.iterator]();
  }

  toJSON(): Element[] {
    return [...this];
  }
}
