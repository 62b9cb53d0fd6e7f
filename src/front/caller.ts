import type { RequestRecord } from './request-record.ts';
import type { FanOutRequest } from './generation/fan-out.ts';
import type { TokenDelta } from './generation/generation.ts';
import type { ResumedChoice } from './generation/resumption.ts';

/** Asker of a piece of work. Work is charged to its client and stops when its signal aborts. */
export interface Caller {
  /**
   * Name of the client: only it can see what it made. Empty if the server has no API keys: all callers
   * are one client.
   */
  readonly client: string;
  /** Client's id of the request: one of its choice, or one that the server gave it. */
  readonly requestId?: string;
  /** Aborts when the client is gone, or its time is over. */
  readonly signal: AbortSignal;
  /** It is a line of a batch, which nobody waits for. */
  readonly isOfBatch?: boolean;
  /** Meter of the client's token rate; left out if there is no limit. */
  readonly meter?: TokenMeter;
  /** Receives what happens to the request; left out if nobody reads it. */
  readonly record?: RequestRecord;
  /** Follows the answer; left out where no other server could take it up. */
  readonly answer?: AnswerFollower;
  /** Client's wishes about cached answers; left out if it can have none. */
  readonly cache?: CacheWish;
}

/** Follows an answer, so that another server can take it up. */
export interface AnswerFollower {
  /** End of the answer's id. */
  readonly id: string;
  /** Unix time in seconds. */
  readonly created: number;
  /**
   * Adapter that the answer began with on another server; null for the model alone; left out for a new
   * answer.
   */
  readonly adapter?: AnsweringAdapter | null | undefined;
  /** Seed if the request names none. */
  readonly seed: bigint;
  /**
   * Called once the prompt is known.
   * @returns where its choices stand that began elsewhere; none for a new answer
   * @throws when what is known of it does not fit the request
   */
  start(request: FanOutRequest, model: AnsweringModel): readonly ResumedChoice[];
  record(delta: TokenDelta): void;
  /**
   * Number of the next event, for an API that numbers them. Does not count up if the reader has that
   * event already.
   */
  nextEventNumber(): number;
}

/** Properties of a model that decide whether two servers give the same answer. */
export interface AnsweringModel {
  readonly id: string;
  readonly adapter?: Omit<AnsweringAdapter, 'name'> | null;
  readonly vocabSize: number;
  /** Equal where weights, graph and tokenizer are. */
  readonly contentId: string;
  readonly details?: {
    readonly family: string;
    readonly numParameters: number;
    readonly precision: string;
  };
}

/** A LoRA adapter, wherever it stands in a server's list of them. */
export interface AnsweringAdapter {
  readonly name: string;
  /** The same for adapters of the same content. */
  readonly id: string;
  readonly scale: number;
}

/** How a request may be answered from a cache of answers. */
export interface CacheWish {
  /** Whether a stored answer will do. */
  readonly mayFind: boolean;
  /** Whether its answer may be looked up and kept at all. */
  readonly mayKeep: boolean;
  /** Nothing but a stored answer will do. */
  readonly onlyFound: boolean;
  /** Most milliseconds since the answer was computed; null for any that is kept. */
  readonly maxAgeMs: number | null;
  /** A stored answer will do though the same request could get another one each time. */
  readonly isAsked: boolean;
  /** Hears what came of it, before the answer begins. */
  readonly tell?: (outcome: CacheOutcome) => void;
}

export type CacheOutcome =
  | { readonly status: 'hit'; readonly ageMs: number }
  /** `shared`: computed for an equal request at the same time. `bypass`: not looked up. */
  | { readonly status: 'miss' | 'shared' | 'bypass' };

/** Wish of a request that states none. */
export const ANY_ANSWER: CacheWish = {
  mayFind: true,
  mayKeep: true,
  onlyFound: false,
  maxAgeMs: null,
  isAsked: false,
};

export interface TokenMeter {
  /**
   * Takes tokens before they are computed.
   * @param most that it may come to, prompt included
   * @returns function that takes the number used, and gives the others back
   * @throws when the client has fewer left
   */
  charge(most: number): Promise<(used: number) => Promise<void>>;
}
