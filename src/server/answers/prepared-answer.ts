import type { Caller } from '../../front/caller.ts';
import type { ModelContext } from '../context.ts';
import type { Sendable } from '../http/written-json.ts';
import type { JsonObject } from '../json-object.ts';

/** One checked request, ready to run over any transport. */
export interface PreparedAnswer {
  readonly stream: boolean;
  /**
   * Queues it. A refusal throws here; what happens later is met in the iteration.
   * @returns its events, those that come at once together
   */
  chunks(caller: Caller): Promise<AsyncIterable<readonly Sendable[]>>;
  /** Queues it. @returns the response in one piece */
  whole(caller: Caller): Promise<JsonObject>;
}

/** @throws ApiError 4xx, InvalidRequestError when the body can't be served */
export type Prepare = (
  context: ModelContext,
  json: unknown,
  caller: Caller,
) => Promise<PreparedAnswer>;
