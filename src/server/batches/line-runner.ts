/** Runs one line of a batch as the API that it names would, and tries again what may pass. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerContext } from '../context.ts';
import { createId } from '../ids.ts';
import { toApiError } from '../to-api-error.ts';
import { answerFor } from './line-answers.ts';
import { type InputLine, requireEndpoint } from './input-line.ts';
import type { LineCaller, LineResult, LineWork } from './line-work.ts';

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
  { pause, ...caller }: LineCaller,
): Promise<LineResult> {
  const requestId = createId('req_');
  const answer = answerFor(endpoint);
  for (let numTries = 1; ; numTries++) {
    try {
      requireEndpoint(line, endpoint);
      const asker = { ...caller, requestId, isOfBatch: true };
      return { status: 200, requestId, ...(await answer(context, line.body, asker)) };
    } catch (error) {
      caller.signal.throwIfAborted();
      const told = toApiError(error, context.logger);
      // A full queue, a rate that is used up and an engine that starts pass by; a model that is broken may not.
      const isPatient =
        told.status === 429 || (told.status === 503 && told.code !== 'model_load_failed');
      const isPassing = isPatient || told.status >= 500;
      if (!isPassing || told.status === 501 || (!isPatient && numTries === MAX_TRIES)) {
        const body = [Buffer.from(JSON.stringify(told.toEnvelope()))];
        return { status: told.status, requestId, body };
      }
      const ms = Number(told.headers['retry-after-ms'] ?? RETRY_MS * numTries);
      await pause(() => sleep(ms, undefined, { signal: caller.signal }));
    }
  }
}
