/** Generations that wait or run, for those who want to see or end them. Nothing of their text is here. */
import type { RequestState } from '../../front/request-record.ts';
import { once } from '../../once.ts';
import { requestAborted } from '../errors.ts';
import type { JsonObject } from '../json-object.ts';

export interface RunningRequest {
  /** Its `x-request-id`, or the `request_id` of a WebSocket frame. Clients may choose equal ones. */
  readonly id: string;
  /** Client that sent it; empty on a server without keys. */
  readonly client: string;
  readonly model: string;
  readonly serviceClass: string | null;
  /** Tokens of all its prompts. */
  readonly promptTokens: number;
  /** Time of `performance.now()`. */
  readonly startedAt: number;
  readonly state: () => RequestState;
  /** Tokens of all its choices, so far. */
  outputTokens: number;
}

interface Entry {
  readonly request: RunningRequest;
  readonly ending: AbortController;
}

/** As many as the queues of all models let in. */
export class RunningRequests {
  readonly #entries = new Set<Entry>();

  get size(): number {
    return this.#entries.size;
  }

  /**
   * @param ending is aborted to end the request
   * @returns takes it off the list
   */
  add(request: RunningRequest, ending: AbortController): () => void {
    const entry = { request, ending };
    this.#entries.add(entry);
    return once(() => void this.#entries.delete(entry));
  }

  /** The oldest first. @param client null for those of all clients */
  list(client: string | null): RunningRequest[] {
    return this.#of(client).map(({ request }) => request);
  }

  /**
   * Ends the requests of an id; their clients get an error that says so.
   * @param client null for those of all clients
   * @returns how many there were
   */
  abort(id: string, client: string | null): number {
    const found = this.#of(client).filter(({ request }) => request.id === id);
    for (const { ending } of found) ending.abort(requestAborted());
    return found.length;
  }

  #of(client: string | null): Entry[] {
    const all = [...this.#entries];
    return client === null ? all : all.filter(({ request }) => request.client === client);
  }
}

export function describeRequest(request: RunningRequest): JsonObject {
  const { id, client, model, promptTokens, outputTokens, startedAt } = request;
  return {
    id,
    object: 'request',
    client: client === '' ? null : client,
    model,
    state: request.state(),
    prompt_tokens: promptTokens,
    completion_tokens: outputTokens,
    age_seconds: Math.round(performance.now() - startedAt) / 1000,
  };
}
