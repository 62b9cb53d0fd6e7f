/**
 * A request as spans of OpenTelemetry, made once it has ended. They go to the SDK that whoever starts
 * the server has loaded, and nowhere without one.
 */
import type { IncomingHttpHeaders } from 'node:http';
import {
  type Attributes,
  isSpanContextValid,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { ModelFacts, RequestRecord } from '../../front/request-record.ts';
import type { FinishedRequest } from './finished-request.ts';

const NAME = 'chairlift';

/** Format of a `traceparent` header, by the W3C's Trace Context. */
const TRACE_PARENT = /^[\da-f]{2}-(?!0{32})([\da-f]{32})-[\da-f]{16}-[\da-f]{2}/;

/**
 * A span of the request, within the client's if it named one, and within it one for each stage.
 * `detokenize` is an attribute: it goes on while tokens are computed.
 * @returns the id of its trace: without an SDK the client's; null if there is none
 */
export function traceRequest(request: FinishedRequest): string | null {
  const { record, headers } = request;
  const parent = propagation.extract(ROOT_CONTEXT, headers);
  const startTime = record.startedEpochMs;
  const { asked } = record;
  const tracer = trace.getTracer(NAME);
  const span = tracer.startSpan(
    nameOf(request),
    {
      kind: SpanKind.SERVER,
      startTime,
      attributes: asked === null ? {} : modelAttributes(asked),
    },
    parent,
  );
  const context = span.spanContext();
  if (!isSpanContextValid(context)) return traceIdOf(headers);
  if (span.isRecording()) {
    span.setAttributes(httpAttributes(request));
    if (asked !== null) span.setAttributes(usageAttributes(request, asked));
    const failure = failureOf(request);
    if (failure !== null) {
      span.setAttribute('error.type', failure);
      span.setStatus({ code: SpanStatusCode.ERROR });
    }
    const within = trace.setSpan(parent, span);
    for (const { stage, startedAt, ms } of record.spans) {
      if (stage === 'detokenize') continue;
      const begunAt = startTime + startedAt - record.startedAt;
      tracer.startSpan(stage, { startTime: begunAt }, within).end(begunAt + ms);
    }
  }
  span.end(startTime + record.totalMs);
  return context.traceId;
}

/** Id of the client's trace. */
function traceIdOf({ traceparent }: IncomingHttpHeaders): string | null {
  return typeof traceparent === 'string' ? (TRACE_PARENT.exec(traceparent)?.[1] ?? null) : null;
}

/** Name of the span: one of few values, as span names should be. */
function nameOf({ record: { asked }, method, route }: FinishedRequest): string {
  if (asked !== null) return `${asked.operation} ${asked.model}`;
  return route === undefined ? method : `${method} ${route}`;
}

function httpAttributes({
  method,
  path,
  route,
  status,
  code,
  headers,
}: FinishedRequest): Attributes {
  if (code !== undefined)
    return { 'rpc.system': 'grpc', 'rpc.method': method, 'rpc.grpc.status_code': code };
  const { host } = headers;
  return {
    'http.request.method': method,
    ...(path === undefined ? {} : { 'url.path': path }),
    ...(route === undefined ? {} : { 'http.route': route }),
    ...(status === undefined ? {} : { 'http.response.status_code': status }),
    ...(host === undefined ? {} : { 'server.address': host.replace(/:\d+$/, '') }),
  };
}

/** Attributes that samplers see. */
function modelAttributes({ operation, model }: ModelFacts): Attributes {
  return {
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': NAME,
    'gen_ai.request.model': model,
  };
}

/** The semantic conventions' attributes, and vLLM's. */
function usageAttributes({ record, requestId }: FinishedRequest, asked: ModelFacts): Attributes {
  return {
    'gen_ai.response.model': asked.model,
    'gen_ai.response.finish_reasons': [...record.finishReasons],
    'gen_ai.usage.input_tokens': record.numPromptTokens,
    'gen_ai.usage.output_tokens': record.numOutputTokens,
    'gen_ai.usage.cache_read.input_tokens': record.numCachedTokens,
    ...(requestId === undefined ? {} : { 'gen_ai.request.id': requestId }),
    'gen_ai.usage.prompt_tokens': record.numPromptTokens,
    'gen_ai.usage.completion_tokens': record.numOutputTokens,
    ...generationAttributes(asked.generation),
    ...latencyAttributes(record),
  };
}

function generationAttributes(generation: ModelFacts['generation']): Attributes {
  if (generation === undefined) return {};
  const { numChoices, maxTokens, stop, sampling } = generation;
  return {
    'gen_ai.request.max_tokens': maxTokens,
    'gen_ai.request.temperature': sampling.temperature,
    'gen_ai.request.top_p': sampling.topP,
    'gen_ai.request.top_k': sampling.topK,
    'gen_ai.request.frequency_penalty': sampling.frequencyPenalty,
    'gen_ai.request.presence_penalty': sampling.presencePenalty,
    'gen_ai.request.choice.count': numChoices,
    'gen_ai.request.n': numChoices,
    ...(stop.length === 0 ? {} : { 'gen_ai.request.stop_sequences': [...stop] }),
  };
}

/** In seconds. */
function latencyAttributes(record: RequestRecord): Attributes {
  const queue = record.msOf('queue');
  const prefill = record.msOf('prefill');
  const decode = record.msOf('decode');
  const inference = prefill === null || decode === null ? null : prefill + decode;
  const times: Readonly<Record<string, number | null>> = {
    'gen_ai.response.time_to_first_chunk': record.firstTokenMs,
    'gen_ai.latency.time_in_queue': queue,
    'gen_ai.latency.time_to_first_token': record.firstTokenMs,
    'gen_ai.latency.e2e': record.totalMs,
    'gen_ai.latency.time_in_model_prefill': prefill,
    'gen_ai.latency.time_in_model_decode': decode,
    'gen_ai.latency.time_in_model_inference': inference,
    'chairlift.latency.detokenize': record.msOf('detokenize'),
  };
  return Object.fromEntries(
    Object.entries(times).flatMap(([name, ms]) => (ms === null ? [] : [[name, ms / 1000]])),
  );
}

/** Why it failed, in few values; null if it did not. What the client got wrong is no failure of ours. */
function failureOf({ record, status, code }: FinishedRequest): string | null {
  if (record.finishReasons.has('error')) return 'generation';
  if (record.finishReasons.has('timeout')) return 'timeout';
  if (status !== undefined && status >= 500) return `${status}`;
  const isInternal = code !== undefined && SERVER_CODES.has(code);
  return isInternal ? `${code}` : null;
}

/** Status codes of gRPC that are failures of a server: unknown, deadline exceeded, internal, unavailable. */
const SERVER_CODES: ReadonlySet<number> = new Set([2, 4, 13, 14]);
