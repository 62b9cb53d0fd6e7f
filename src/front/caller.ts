import type { RequestRecord } from './request-record.ts';
import type { FanOutRequest } from './generation/fan-out.ts';
import type { TokenDelta } from './generation/generation.ts';
import type { ResumedChoice } from './generation/resumption.ts';

/** Who asks for a piece of work. Work is charged to its client and stops when its signal aborts. */
export interface Caller {
  /** What a client made, no other client sees. Empty where the server has no API keys: all are one. */
  readonly client: string;
  /** What the client calls the request: an id of its choice, or one that it was told. */
  readonly requestId?: string;
  /** Aborts when the client is gone, or its time is over. */
  readonly signal: AbortSignal;
  /** It is a line of a batch, which nobody waits for. */
  readonly isOfBatch?: boolean;
  /** Of its rate of tokens; left out where there is no limit. */
  readonly meter?: TokenMeter;
  /** Told what happens to the request; left out where nobody looks. */
  readonly record?: RequestRecord;
  /** Follows the answer; left out where no other server could take it up. */
  readonly answer?: AnswerFollower;
  /** What it says about stored answers; left out where it can say nothing. */
  readonly cache?: CacheWish;
}

/** Follows an answer, so that another server can take it up. */
export interface AnswerFollower {
  /** What its id ends with. */
  readonly id: string;
  /** Unix time in seconds. */
  readonly created: number;
  /** What it began with elsewhere: the model alone if null; left out for a new answer. */
  readonly adapter?: AnsweringAdapter | null | undefined;
  /** Of a request that names none. */
  readonly seed: bigint;
  /**
   * Called once the prompt is known.
   * @returns where its choices stand that began elsewhere; none for a new answer
   * @throws when what is known of it does not fit the request
   */
  start(request: FanOutRequest, model: AnsweringModel): readonly ResumedChoice[];
  record(delta: TokenDelta): void;
  /** Of the next event, for an API that numbers them; not counted where its reader has that event. */
  nextEventNumber(): number;
}

/** What decides whether two servers give the same answer. */
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

/** Of requests that say nothing. */
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
   * @returns says how many it came to, and gives the others back
   * @throws when the client has not so many left
   */
  charge(most: number): Promise<(used: number) => Promise<void>>;
}
