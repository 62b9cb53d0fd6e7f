/** Record of one request. Times are milliseconds since the start of the run. */
export interface RequestRecord {
  /** When it was to be sent; earlier than `sentMs` where a concurrency cap held it back. */
  readonly dueMs: number;
  readonly sentMs: number;
  /** When each piece of the answer arrived. */
  readonly chunkMs: readonly number[];
  readonly endMs: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** Why it failed; null when the answer came whole. */
  readonly error: string | null;
}

/** Token counts as the server reports them. */
export interface Usage {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** Notes one request's times while it runs. */
export class RequestRecorder {
  readonly #now: () => number;
  readonly #dueMs: number;
  readonly #sentMs: number;
  readonly #plannedPromptTokens: number | null;
  readonly #chunkMs: number[] = [];
  #usage: Usage | null = null;

  /** Made at the moment of sending. @param now milliseconds since the start of the run */
  constructor(now: () => number, dueMs: number, plannedPromptTokens: number | null) {
    this.#now = now;
    this.#dueMs = dueMs;
    this.#sentMs = now();
    this.#plannedPromptTokens = plannedPromptTokens;
  }

  /** A piece of the answer came. */
  chunk(): void {
    this.#chunkMs.push(this.#now());
  }

  usage(usage: Usage): void {
    this.#usage = usage;
  }

  /** The last word. An answer without a single piece of text has no latencies: it counts as failed. */
  end(error: string | null): RequestRecord {
    const numChunks = this.#chunkMs.length;
    return {
      dueMs: this.#dueMs,
      sentMs: this.#sentMs,
      chunkMs: this.#chunkMs,
      endMs: this.#now(),
      promptTokens: this.#usage?.promptTokens ?? this.#plannedPromptTokens ?? 0,
      outputTokens: this.#usage?.completionTokens ?? numChunks,
      error: error ?? (numChunks === 0 ? 'the answer held no text' : null),
    };
  }
}
