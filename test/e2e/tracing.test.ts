/** The preload of docs/tracing.md: traces of a real server reach a collector, the last ones too. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, expect, it } from 'vitest';
import { post } from '../support/http-client.ts';
import { startCollector } from '../support/otlp-collector.ts';
import { until } from '../support/processes.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
const collector = await startCollector();
afterAll(async () => {
  collector.close();
  await cache.remove();
});

it('sends a span for each request and its stages, at the latest when the server ends', async () => {
  const server = spawn(
    process.execPath,
    ['--import', './deploy/opentelemetry/preload.mjs', 'dist/cli/main.js', 'serve', '--port', '0'],
    {
      env: { ...process.env, ...cache.env, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  let output = '';
  server.stdout.on('data', (data: Buffer) => (output += data.toString()));
  await until(() => output.includes(' at http'), 'a server');
  const [, url = ''] = /at (http:\S+)/.exec(output) ?? [];
  const body = { messages: [{ role: 'user', content: 'What is 2 + 3?' }], temperature: 0 };
  const answer = await post(`${url}/v1/chat/completions`, body);
  expect(answer.status).toBe(200);
  const closed = once(server, 'close');
  server.kill('SIGTERM');
  await closed;
  expect(collector.resource).toMatchObject({ 'service.name': 'chairlift' });
  const root = collector.spans.find(({ name }) => name === 'chat summit');
  expect(root?.attributes).toMatchObject({ 'gen_ai.response.finish_reasons': ['stop'] });
  const stages = collector.spans.filter(({ parentSpanId }) => parentSpanId === root?.spanId);
  expect(stages.map(({ name }) => name)).toEqual([
    'receive',
    'tokenize',
    'queue',
    'prefill',
    'decode',
    'send',
  ]);
  expect(stages.every(({ traceId }) => traceId === root?.traceId)).toBe(true);
});
