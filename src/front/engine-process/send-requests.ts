import type { EngineRequest } from '../../engine/request.ts';
import type { EngineHandle } from './engine-process.ts';

/**
 * Sends requests in one message. One that can't be written as a message must not take the others
 * with it.
 * @param fail told of such a request
 */
export function sendRequests(
  engineProcess: EngineHandle | undefined,
  requests: readonly EngineRequest[],
  fail: (request: EngineRequest, error: unknown) => void,
): void {
  if (requests.length === 0) return;
  try {
    engineProcess?.send({ type: 'add', requests });
  } catch (error) {
    const [first, ...others] = requests;
    if (others.length > 0)
      for (const request of requests) sendRequests(engineProcess, [request], fail);
    else if (first) fail(first, error);
  }
}
