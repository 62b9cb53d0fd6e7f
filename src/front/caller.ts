import type { RequestRecord } from './request-record.ts';

/** Who asks for a piece of work. Work is charged to its client and stops when its signal aborts. */
export interface Caller {
  /** What a client made, no other client sees. Empty where the server has no API keys: all are one. */
  readonly client: string;
  /** What the client calls the request: an id of its choice, or one that it was told. */
  readonly requestId?: string;
  /** Aborts when the client is gone, or its time is over. */
  readonly signal: AbortSignal;
  /** Of its rate of tokens; left out where there is no limit. */
  readonly meter?: TokenMeter;
  /** Told what happens to the request; left out where nobody looks. */
  readonly record?: RequestRecord;
}

export interface TokenMeter {
  /**
   * Takes tokens before they are computed.
   * @param most that it may come to, prompt included
   * @returns says how many it came to, and gives the others back
   * @throws when the client has not so many left
   */
  charge(most: number): Promise<(used: number) => Promise<void>>;
}
