import type { Caller } from '../../front/caller.ts';
import type { ServerContext } from '../context.ts';
import type { ServedText } from '../runtimes.ts';
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

/**
 * An API's way from a body to an answer. Each names what it needs of the model and of the server.
 * @throws ApiError 4xx, InvalidRequestError when the body can't be served
 */
export type Prepare = (
  served: ServedText,
  json: unknown,
  caller: Caller,
  server: ServerContext,
) => Promise<PreparedAnswer>;
