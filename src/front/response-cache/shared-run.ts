import { isTimeout } from '../deadline.ts';
import { SlowReaderError } from '../engine-process/errors.ts';
import type { GenerationDelta } from '../generation/generation.ts';
import { sizeOf } from './answer-codec.ts';
import { areJoinable, joinDeltas } from '../generation/merge-deltas.ts';

export interface SharedRunOptions {
  /** Sequences that it generates; each ends with a finish reason. */
  readonly numSequences: number;
  /** Bytes of an answer that is kept whole, for readers to come; of a longer one, what slow readers may lag. */
  readonly maxBytes: number;
  /** The run has ended, or nobody may join it any more. */
  readonly onClosed: () => void;
  /** The whole answer, if it is not too long. */
  readonly onComplete: (deltas: readonly GenerationDelta[]) => void;
}

/** One request's share of a run. */
export interface RunReader extends AsyncIterableIterator<GenerationDelta, void> {
  /** Tokens of the run that are charged to it. */
  readonly chargedTokens: number;
}

interface Reader {
  /** The next delta to read, counted from the run's first. */
  next: number;
  charged: number;
  wake: () => void;
  failure: Error | null;
}

/**
 * A generation that several equal requests read. Nobody leads: it goes on as long as one of them
 * is there, and each reads all of it at its own pace. Its tokens are charged to one reader at a time,
 * the one that has been there for longest.
 */
export class SharedRun {
  readonly #options: SharedRunOptions;
  readonly #ending = new AbortController();
  /** In the order of arrival. */
  readonly #readers = new Set<Reader>();
  /** Deltas from `#first` on. */
  #deltas: GenerationDelta[] = [];
  #first = 0;
  #bytes = 0;
  #isOpen = true;
  #numFinished = 0;
  #end: { readonly error?: unknown } | null = null;

  /** @param start begins the generation, which ends when its signal aborts */
  constructor(
    start: (signal: AbortSignal) => AsyncIterable<GenerationDelta>,
    options: SharedRunOptions,
  ) {
    this.#options = options;
    void this.#pump(start(this.#ending.signal));
  }

  get numReaders(): number {
    return this.#readers.size;
  }

  /** Whether all of it is still there to be read. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** @param signal ends the reading, and with the last reader the run */
  read(signal: AbortSignal): RunReader {
    const reader: Reader = { next: 0, charged: 0, wake: () => {}, failure: null };
    this.#readers.add(reader);
    const leave = (): void => {
      signal.removeEventListener('abort', leave);
      this.#leave(reader, signal);
      reader.wake();
    };
    signal.addEventListener('abort', leave, { once: true });
    const next = async (): Promise<IteratorResult<GenerationDelta, void>> => {
      try {
        const delta = await this.#nextOf(reader, signal);
        if (delta === null) leave();
        return delta === null ? { done: true, value: undefined } : { done: false, value: delta };
      } catch (error) {
        leave();
        throw error;
      }
    };
    return {
      get chargedTokens() {
        return reader.charged;
      },
      [Symbol.asyncIterator]() {
        return this;
      },
      next,
      async return() {
        leave();
        return { done: true, value: undefined };
      },
    };
  }

  /** Never rejects. */
  async #pump(source: AsyncIterable<GenerationDelta>): Promise<void> {
    try {
      for await (const delta of source) this.#push(delta);
      this.#finish({});
    } catch (error) {
      this.#finish({ error });
    }
  }

  #push(delta: GenerationDelta): void {
    this.#deltas.push(delta);
    this.#bytes += sizeOf(delta);
    const [payer] = this.#readers;
    if (payer) payer.charged += delta.tokenIds.length;
    if (this.#bytes > this.#options.maxBytes) this.#close();
    if (this.#bytes > 2 * this.#options.maxBytes) this.#makeRoom();
    if (delta.finishReason !== null) this.#numFinished++;
    if (this.#numFinished === this.#options.numSequences) this.#complete();
    else this.#wakeAll();
  }

  #complete(): void {
    const isWhole = this.#isOpen;
    this.#finish({});
    if (isWhole) this.#options.onComplete(this.#deltas);
  }

  #finish(end: { readonly error?: unknown }): void {
    this.#end ??= end;
    this.#close();
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const reader of this.#readers) reader.wake();
  }

  /** Nobody joins any more. */
  #close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#options.onClosed();
  }

  /** Forgets what all have read; if that is not enough, the slowest are given up. */
  #makeRoom(): void {
    this.#forgetRead();
    if (this.#bytes <= 2 * this.#options.maxBytes) return;
    for (const reader of this.#readers) {
      if (reader.next > this.#first) continue;
      reader.failure = new SlowReaderError();
      reader.next = this.#first + this.#deltas.length;
    }
    this.#forgetRead();
  }

  #forgetRead(): void {
    const end = this.#first + this.#deltas.length;
    const oldest = Math.min(end, ...Array.from(this.#readers, ({ next }) => next));
    const read = this.#deltas.splice(0, oldest - this.#first);
    for (const delta of read) this.#bytes -= sizeOf(delta);
    this.#first = oldest;
  }

  /** Joins the deltas since the last call, up to a piece's length; null at the end. */
  async #nextOf(reader: Reader, signal: AbortSignal): Promise<GenerationDelta | null> {
    for (;;) {
      signal.throwIfAborted();
      if (reader.failure !== null) throw reader.failure;
      const delta = this.#take(reader);
      if (delta !== null) return delta;
      if (this.#end !== null) {
        if ('error' in this.#end) throw this.#end.error;
        return null;
      }
      await new Promise<void>((resolve) => {
        reader.wake = resolve;
      });
    }
  }

  #take(reader: Reader): GenerationDelta | null {
    let piece: GenerationDelta | null = null;
    for (;;) {
      const delta = this.#deltas[reader.next - this.#first];
      if (delta === undefined || (piece !== null && !areJoinable(piece, delta))) return piece;
      piece = piece === null ? delta : joinDeltas(piece, delta);
      reader.next++;
    }
  }

  #leave(reader: Reader, { reason }: AbortSignal): void {
    if (!this.#readers.delete(reader)) return;
    if (this.#readers.size > 0 || this.#end !== null) return;
    this.#close();
    // A run that nobody had the time to wait for has timed out.
    const hasTimedOut = isTimeout(reason);
    this.#ending.abort(hasTimedOut ? reason : new Error('nobody waits for the answer any more'));
  }
}
