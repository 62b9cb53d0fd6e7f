/** Runs one line of a batch as the API that it names would, and tries again what may pass. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Caller } from '../../front/caller.ts';
import type { ServerContext } from '../context.ts';
import { ApiError, badRequest } from '../errors.ts';
import { createId } from '../ids.ts';
import type { JsonObject } from '../json-object.ts';
import { acquireModel } from '../model-access.ts';
import type { Prepare } from '../answers/prepared-answer.ts';
import { COMPLETION_PATHS } from '../openai/apis.ts';
import { toApiError } from '../to-api-error.ts';
import { type InputLine, requireEndpoint } from './input-line.ts';
import type { LineCaller, LineResult, LineWork } from './line-work.ts';

/** What batches can be made of. */
export const BATCH_ENDPOINTS = [...COMPLETION_PATHS.keys()];

/** Tries of a request that fails through no fault of its own. */
const MAX_TRIES = 5;
const RETRY_MS = 1000;

/** How a server does the work of batches. */
export function lineWork(context: ServerContext): LineWork {
  return {
    run: (line, endpoint, caller) => runLine(context, line, endpoint, caller),
    meterOf: (account) => context.rates.meterOf(account),
    logger: context.logger,
  };
}

async function runLine(
  context: ServerContext,
  line: InputLine,
  endpoint: string,
  caller: LineCaller,
): Promise<LineResult> {
  const requestId = createId('req_');
  for (let numTries = 1; ; numTries++) {
    try {
      const body = await answer(context, line, endpoint, { ...caller, requestId, isOfBatch: true });
      return { status: 200, requestId, body };
    } catch (error) {
      caller.signal.throwIfAborted();
      const told = toApiError(error, context.logger);
      // A full queue, a rate that is used up and an engine that starts pass by.
      const isPatient = told.status === 429 || told.status === 503;
      const isPassing = isPatient || told.status >= 500;
      if (!isPassing || told.status === 501 || (!isPatient && numTries === MAX_TRIES)) {
        return { status: told.status, requestId, body: { ...told.toEnvelope() } };
      }
      const ms = Number(told.headers['retry-after-ms'] ?? RETRY_MS * numTries);
      await sleep(ms, undefined, { signal: caller.signal });
    }
  }
}

async function answer(
  context: ServerContext,
  line: InputLine,
  endpoint: string,
  caller: Caller,
): Promise<JsonObject> {
  requireEndpoint(line, endpoint);
  const { body } = line;
  if (body['stream'] === true) {
    throw badRequest('`stream`: a batch has no streams.', 'stream', 'invalid_value');
  }
  const { model, release } = await acquireModel(context, body, caller);
  try {
    const completion = await prepareFor(endpoint)(model, body, caller);
    return await completion.whole(caller);
  } finally {
    release();
  }
}

/** @throws ApiError 400 */
export function prepareFor(endpoint: string): Prepare {
  const prepare = COMPLETION_PATHS.get(endpoint);
  if (prepare !== undefined) return prepare;
  throw new ApiError(
    400,
    'invalid_request_error',
    `\`endpoint\`: expected one of ${BATCH_ENDPOINTS.join(', ')}.`,
    { param: 'endpoint', code: 'invalid_value' },
  );
}
