/** What has to be so before a call's message is kept: a key, and that it arrives in time. */
import { ServerInterceptingCall, type ServerInterceptor } from '@grpc/grpc-js';
import type { ServerContext } from '../server/context.ts';
import { ApiError } from '../server/errors.ts';
import { BodyBudget } from '../server/http/body-budget.ts';
import { toApiError } from '../server/to-api-error.ts';
import { headersOf } from './call.ts';
import { toStatus } from './status.ts';

/**
 * Milliseconds after which a message is slow. Of a slow one nobody knows how much there is of it: it is
 * charged to its client as the largest that may come.
 */
const SLOW_MS = 1000;

/**
 * @param receiveMs that the message may take to arrive; streams have no such limit
 * @param openPaths methods that need no key
 */
export function arrivalGuard(
  { keys, config, logger }: ServerContext,
  receiveMs: number,
  openPaths: ReadonlySet<string>,
): ServerInterceptor {
  const budget = new BodyBudget();
  const { maxBodyBytes } = config;
  return ({ path, requestStream }, call) => {
    let timer: NodeJS.Timeout | undefined;
    let release = (): void => {};
    const settle = (): void => {
      clearTimeout(timer);
      release();
      release = () => {};
    };
    const refuse = (error: unknown): void => {
      settle();
      call.sendStatus(toStatus(toApiError(error, logger)));
    };
    const slow = (client: string): void => {
      try {
        budget.charge(client, maxBodyBytes);
      } catch (error) {
        refuse(error);
        return;
      }
      release = () => budget.release(client, maxBodyBytes);
      timer = setTimeout(() => refuse(tooLate()), receiveMs - SLOW_MS);
    };
    return new ServerInterceptingCall(call, {
      start(next) {
        next({
          onReceiveMetadata(metadata, proceed) {
            try {
              const key = openPaths.has(path) ? null : keys.identify(headersOf(metadata));
              const client = key?.client ?? '';
              if (!requestStream) {
                timer =
                  receiveMs > SLOW_MS
                    ? setTimeout(() => slow(client), SLOW_MS)
                    : setTimeout(() => refuse(tooLate()), receiveMs);
              }
              proceed(metadata);
            } catch (error) {
              refuse(error);
            }
          },
          onReceiveMessage(message, proceed) {
            settle();
            proceed(message);
          },
          onReceiveHalfClose(proceed) {
            settle();
            proceed();
          },
          onCancel: settle,
        });
      },
    });
  };
}

function tooLate(): ApiError {
  return new ApiError(504, 'timeout_error', 'The message took too long to arrive.');
}
