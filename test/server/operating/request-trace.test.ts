/** Traces as a collector gets them, from an SDK that whoever starts the server has loaded. */
import { context, propagation, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { type OtlpCollector, startCollector } from '../../support/otlp-collector.ts';
import { errorOf, post } from '../support/client.ts';
import { babbles, MODEL, says, useServers } from '../support/test-server.ts';

const server = useServers();
let collector: OtlpCollector;
let provider: NodeTracerProvider;

const SERVER_KIND = 2;
const ERROR = 2;
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${TRACE_ID}-b7ad6b7169203331-01`;

beforeAll(async () => {
  collector = await startCollector();
  const exporter = new OTLPTraceExporter({ url: `${collector.url}/v1/traces` });
  provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  provider.register();
});
beforeEach(() => {
  collector.spans.length = 0;
});
afterAll(async () => {
  await provider.shutdown();
  for (const api of [trace, propagation, context]) api.disable();
  collector.close();
});

/** A double holds Unix time to a quarter of a microsecond, and sums of such differ by that much. */
function microseconds(nanoseconds: bigint | undefined): bigint {
  return (nanoseconds ?? 0n) / 1000n;
}

test('a request is a span of the client’s trace, with one for each stage', async () => {
  const target = await server({ engine: { numCachedTokens: 3 } });
  const body = {
    messages: [{ role: 'user', content: 'Hi' }],
    max_tokens: 4,
    temperature: 0.5,
    stop: ['zzz'],
    stream: true,
  };
  const headers = { traceparent, 'x-request-id': 'my-id' };
  await (await post(target, '/v1/chat/completions', body, { headers })).text();
  await vi.waitFor(() => expect(collector.spans).toHaveLength(7));
  const [root, ...others] = collector.spans.toSorted((a, b) => b.kind - a.kind);
  const stages = others.toSorted((a, b) => Number(a.startTimeUnixNano - b.startTimeUnixNano));
  expect(root).toMatchObject({
    name: `chat ${MODEL}`,
    kind: SERVER_KIND,
    traceId: TRACE_ID,
    parentSpanId: 'b7ad6b7169203331',
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'chairlift',
      'gen_ai.request.model': MODEL,
      'gen_ai.response.model': MODEL,
      'gen_ai.response.finish_reasons': ['length'],
      'gen_ai.request.max_tokens': 4,
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.stop_sequences': ['zzz'],
      'gen_ai.request.id': 'my-id',
      'gen_ai.request.n': 1,
      'gen_ai.usage.output_tokens': 4,
      'gen_ai.usage.completion_tokens': 4,
      'gen_ai.usage.cache_read.input_tokens': 3,
      'gen_ai.latency.time_in_queue': expect.any(Number),
      'gen_ai.latency.time_to_first_token': expect.any(Number),
      'gen_ai.latency.e2e': expect.any(Number),
      'gen_ai.latency.time_in_model_prefill': expect.any(Number),
      'gen_ai.latency.time_in_model_decode': expect.any(Number),
      'gen_ai.latency.time_in_model_inference': expect.any(Number),
      'http.request.method': 'POST',
      'http.route': '/v1/chat/completions',
      'http.response.status_code': 200,
      'server.address': '127.0.0.1',
    },
  });
  expect(stages.map(({ name }) => name)).toEqual([
    'receive',
    'tokenize',
    'queue',
    'prefill',
    'decode',
    'send',
  ]);
  for (const stage of stages) {
    expect(stage).toMatchObject({ traceId: TRACE_ID, parentSpanId: root?.spanId });
    expect(microseconds(stage.startTimeUnixNano)).toBeGreaterThanOrEqual(
      microseconds(root?.startTimeUnixNano) - 1n,
    );
    expect(microseconds(stage.endTimeUnixNano)).toBeLessThanOrEqual(
      microseconds(root?.endTimeUnixNano) + 1n,
    );
  }
  const sinceMs = Date.now() - Number((root?.startTimeUnixNano ?? 0n) / 1_000_000n);
  expect(Math.abs(sinceMs)).toBeLessThan(60_000);
});

test('without a trace of the client’s it is one of its own; probes and scrapes are none', async () => {
  const { url } = await server();
  for (const path of ['/health', '/ready', '/metrics', '/v1/models']) await fetch(`${url}${path}`);
  await vi.waitFor(() => expect(collector.spans).toHaveLength(1));
  const [span] = collector.spans;
  expect(span).toMatchObject({
    name: 'GET /v1/models',
    attributes: { 'http.response.status_code': 200 },
  });
  expect(span?.parentSpanId).toBeUndefined();
});

test('what the server did wrong is an error, and what the client did wrong is none', async () => {
  const failing = await server({
    script: () => {
      throw new Error('no');
    },
  });
  await errorOf(await post(failing, '/v1/completions', { prompt: 'Hi' }), 500);
  await vi.waitFor(() =>
    expect(collector.spans.some(({ kind }) => kind === SERVER_KIND)).toBe(true),
  );
  expect(collector.spans.find(({ kind }) => kind === SERVER_KIND)).toMatchObject({
    name: `text_completion ${MODEL}`,
    status: { code: ERROR },
    attributes: { 'error.type': 'generation', 'http.response.status_code': 500 },
  });
  collector.spans.length = 0;
  const slow = await server({ script: babbles, engine: { heldAfter: 1 } });
  const body = { prompt: 'Hi', max_tokens: 99, timeout: 0.1 };
  await errorOf(await post(slow, '/v1/completions', body), 504);
  await vi.waitFor(() =>
    expect(collector.spans.find(({ kind }) => kind === SERVER_KIND)).toMatchObject({
      attributes: { 'error.type': 'timeout', 'http.response.status_code': 504 },
    }),
  );
  collector.spans.length = 0;
  const target = await server({ script: says('Hi') });
  await errorOf(await post(target, '/v1/completions', { prompt: 'Hi', n: 0 }), 400);
  await vi.waitFor(() =>
    expect(collector.spans.some(({ kind }) => kind === SERVER_KIND)).toBe(true),
  );
  const refused = collector.spans.find(({ kind }) => kind === SERVER_KIND);
  expect(refused).toMatchObject({
    name: 'POST /v1/completions',
    attributes: { 'http.response.status_code': 400 },
  });
  expect(refused?.status.code ?? 0).not.toBe(ERROR);
});
