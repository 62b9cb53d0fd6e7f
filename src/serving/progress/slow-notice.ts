import { progressIsShown } from './show-progress.ts';

/** Long enough for somebody to wonder. */
const SLOW_MS = 1500;

/** Says what is being done, once that takes longer than a moment: on stderr, where progress is shown. */
export class SlowNotice {
  readonly #say: (what: string) => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(say = onStderr) {
    this.#say = say;
  }

  /**
   * Sets what is done from now on, in place of anything before.
   * @param what such as `loading summit`
   */
  begin(what: string): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#say(what), SLOW_MS).unref();
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  async during<R>(what: string, work: Promise<R>): Promise<R> {
    this.begin(what);
    try {
      return await work;
    } finally {
      this.end();
    }
  }
}

function onStderr(what: string): void {
  if (progressIsShown()) console.error(`chairlift: ${what} ...`);
}
