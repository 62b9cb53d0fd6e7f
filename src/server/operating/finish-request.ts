/** Reports a request that has ended: a line in the log, a span, times for the metrics, troubles. */
import type { ServerContext } from '../context.ts';
import type { FinishedRequest } from './finished-request.ts';
import { noteTrouble } from './note-trouble.ts';
import { traceRequest } from './request-trace.ts';

export function finishRequest(
  { logger, metrics, troubles }: Pick<ServerContext, 'logger' | 'metrics' | 'troubles'>,
  request: FinishedRequest,
): void {
  const { record, isQuiet = false } = request;
  record.ended(performance.now());
  if (record.asked !== null) metrics.observeStages(record.asked.model, record.spans);
  // A probe that fails says what the server is at, and says it every few seconds.
  if (!isQuiet) noteTrouble(troubles, request);
  const traceId = isQuiet ? null : traceRequest(request);
  const level = isQuiet ? 'debug' : 'info';
  if (logger.isLevelEnabled(level)) logger[level](lineOf(request, traceId), 'request');
}

/** Never its text, unless prompts are logged, and of its key only the client's name. */
function lineOf(request: FinishedRequest, traceId: string | null): object {
  const { record, requestId, client, method, path, status, code } = request;
  const { asked, prompt } = record;
  return {
    requestId,
    ...(traceId === null ? {} : { traceId }),
    method,
    path,
    ...(client === '' ? {} : { client }),
    status,
    code,
    durationMs: rounded(record.totalMs),
    ...(asked === null
      ? {}
      : {
          model: asked.model,
          tokens: {
            prompt: record.numPromptTokens,
            cached: record.numCachedTokens,
            output: record.numOutputTokens,
          },
          finishReason: [...record.finishReasons].join(',') || null,
          stagesMs: Object.fromEntries(record.spans.map(({ stage, ms }) => [stage, rounded(ms)])),
        }),
    ...(prompt === undefined ? {} : { prompt }),
  };
}

/** To microseconds. */
function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
