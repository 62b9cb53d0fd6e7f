import type { SamplingParams } from '../engine/request.ts';

/**
 * The parts of a request's way: its body arrives and is parsed; templates and tokenizers make its
 * prompt; it waits for a place; its prompt is computed until the first token; its other tokens are;
 * they become text, while they are computed; the answer is on its way to the client after its last
 * token, or waits for a client that reads slowly.
 */
export const STAGES = [
  'receive',
  'tokenize',
  'queue',
  'prefill',
  'decode',
  'detokenize',
  'send',
] as const;

export type Stage = (typeof STAGES)[number];

/** When a stage was, and how long it took: less than until its end where it came in pieces. */
export interface StageSpan {
  readonly stage: Stage;
  /** Time of `performance.now()`. */
  readonly startedAt: number;
  readonly ms: number;
}

/** `waiting` in the queue, `prefill` until the first token, then `decode`. */
export type RequestState = 'waiting' | 'prefill' | 'decode';

/** Model of a request, and its parameters. */
export interface ModelFacts {
  readonly operation: 'chat' | 'text_completion' | 'embeddings' | 'rerank' | 'transcription';
  readonly model: string;
  /** Left out where nothing is generated. */
  readonly generation?: {
    /** Choices of each prompt. */
    readonly numChoices: number;
    readonly maxTokens: number;
    readonly stop: readonly string[];
    readonly sampling: SamplingParams;
  };
}

/**
 * Record of one request so far. If it has several sequences, stages begin with the first and end with
 * the last, but `queue` and `prefill` end when the first sequence has passed them. Times are of
 * `performance.now()`.
 */
export class RequestRecord {
  readonly startedAt = performance.now();
  /** Unix time in milliseconds. */
  readonly startedEpochMs = Date.now();
  /** Client's id of the request; null if it is not known. */
  requestId: string | null = null;
  /** Null for what asks no model, or was refused before it was known what it asks. */
  asked: ModelFacts | null = null;
  /** Model of the server that could not be used for it; null where none failed. */
  unavailableModel: string | null = null;
  /** Left out unless prompts are logged. */
  prompt?: string;
  /** Tokens of all its prompts, or texts. */
  numPromptTokens = 0;
  /** Prompt tokens that were found in the cache. */
  numCachedTokens = 0;
  numOutputTokens = 0;
  /** Reasons why its sequences ended: `stop`, `length`, `abort`, `timeout` or `error`. */
  readonly finishReasons = new Set<string>();
  #receivedAt: number | undefined;
  #tokenizingAt: number | undefined;
  #tokenizeMs = 0;
  #queuedAt: number | undefined;
  #admittedAt: number | undefined;
  #firstTokenAt: number | undefined;
  #finishedAt: number | undefined;
  #detokenizeMs = 0;
  /** Spent on a client that reads slowly. */
  #drainMs = 0;
  #endedAt: number | undefined;

  /** The body is there. */
  received(timeMs: number): void {
    this.#receivedAt ??= timeMs;
  }

  /** A part of its prompts was made between these times. */
  tokenized(fromMs: number, timeMs: number): void {
    this.#tokenizingAt ??= fromMs;
    this.#tokenizeMs += timeMs - fromMs;
  }

  queued(timeMs: number): void {
    this.#queuedAt ??= timeMs;
  }

  admitted(timeMs: number): void {
    this.#admittedAt ??= timeMs;
  }

  tokens(_numTokens: number, timeMs: number): void {
    this.#firstTokenAt ??= timeMs;
  }

  /** A sequence has ended. @param detokenizeMs that its tokens took to become text */
  finished(reason: string, timeMs: number, detokenizeMs: number): void {
    this.finishReasons.add(reason);
    this.#finishedAt = timeMs;
    this.#detokenizeMs += detokenizeMs;
  }

  /** Sending stood still for so long, because the client did not read. */
  drained(ms: number): void {
    this.#drainMs += ms;
  }

  /** Its answer is out, as far as is known. */
  ended(timeMs: number): void {
    this.#endedAt = timeMs;
  }

  get state(): RequestState {
    if (this.#admittedAt === undefined) return 'waiting';
    return this.#firstTokenAt === undefined ? 'prefill' : 'decode';
  }

  /** From its arrival to the end of its answer, or until now. */
  get totalMs(): number {
    return (this.#endedAt ?? performance.now()) - this.startedAt;
  }

  /** From its arrival to its first token; null if there is none. */
  get firstTokenMs(): number | null {
    return this.#firstTokenAt === undefined ? null : this.#firstTokenAt - this.startedAt;
  }

  /** Spans of the stages that are over, in order. */
  get spans(): readonly StageSpan[] {
    const finishedAt = this.#finishedAt;
    const firstTokenAt = this.#firstTokenAt;
    const spans: (StageSpan | null)[] = [
      between('receive', this.startedAt, this.#receivedAt),
      lasting('tokenize', this.#tokenizingAt, this.#tokenizeMs),
      between('queue', this.#queuedAt, this.#admittedAt ?? finishedAt),
      between('prefill', this.#admittedAt, firstTokenAt ?? finishedAt),
      between('decode', firstTokenAt, finishedAt),
      finishedAt === undefined ? null : lasting('detokenize', firstTokenAt, this.#detokenizeMs),
      lasting('send', finishedAt, this.#drainMs + (this.#endedAt ?? NaN) - (finishedAt ?? NaN)),
    ];
    return spans.filter((span) => span !== null);
  }

  /** Milliseconds of a stage; null before it is over. */
  msOf(stage: Stage): number | null {
    return this.spans.find((span) => span.stage === stage)?.ms ?? null;
  }

  /** Value of the `Server-Timing` header, as far as times are known by now. */
  get serverTiming(): string {
    const entries = this.spans.map(({ stage, ms }) => entry(stage, ms));
    return [...entries, entry('total', this.totalMs)].join(', ');
  }
}

function between(stage: Stage, startedAt?: number, endedAt?: number): StageSpan | null {
  return endedAt === undefined ? null : lasting(stage, startedAt, endedAt - (startedAt ?? NaN));
}

function lasting(stage: Stage, startedAt: number | undefined, ms: number): StageSpan | null {
  if (startedAt === undefined || Number.isNaN(ms)) return null;
  return { stage, startedAt, ms: Math.max(0, ms) };
}

function entry(name: string, ms: number): string {
  return `${name};dur=${ms.toFixed(2)}`;
}
