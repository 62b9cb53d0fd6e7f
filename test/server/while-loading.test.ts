/** Streams that begin while their model is being loaded. */
import { expect, it } from 'vitest';
import { modelDefinition } from '../front/registry/fake-loader.ts';
import { post } from './support/client.ts';
import { MODEL, useServers } from './support/test-server.ts';

const server = useServers();

const LOAD_MS = 500;
const SLOW = { loadMs: LOAD_MS };

function slowServer(flags: Record<string, string | number> = SLOW) {
  return server({
    control: 'auto',
    models: [modelDefinition(MODEL, flags)],
    config: { ssePingMs: 20 },
  });
}

const messages = [{ role: 'user', content: 'Hi' }];
const BODIES: readonly (readonly [string, object, string])[] = [
  ['/v1/chat/completions', { messages, stream: true }, 'chat.completion.chunk'],
  ['/v1/completions', { prompt: 'Hi', stream: true }, 'text_completion'],
  ['/v1/messages', { messages, max_tokens: 5, stream: true }, 'message_start'],
  ['/v1/responses', { input: 'Hi', stream: true }, 'response.created'],
  [`/v2/models/${MODEL}/generate_stream`, { text_input: 'Hi' }, 'text_output'],
];

it.each(BODIES)('%s gets comments until its model is there', async (path, body, firstEvent) => {
  const target = await slowServer();
  const response = await post(target, path, { model: MODEL, ...body });
  const text = await response.text();
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  const comments = text.slice(0, text.indexOf('data:'));
  expect(comments.match(/^: ping$/gm)?.length).toBeGreaterThan(3);
  const [first = ''] = text.slice(text.indexOf('data:')).split('\n');
  expect(first).toContain(firstEvent);
  expect(text).not.toMatch(/event: error|"error": ?[{"]/);
});

it.each(BODIES)('%s hears as an event that its model can not be loaded', async (path, body) => {
  const target = await slowServer({ ...SLOW, failure: 'the disk is gone' });
  const response = await post(target, path, { model: MODEL, ...body });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, expect.stringContaining('the disk is gone')]);
  expect(text).toContain(': ping');
});

it.each(BODIES)('%s leaves nothing in use when its client goes', async (path, body) => {
  const target = await slowServer();
  const leaving = new AbortController();
  const asked = post(target, path, { model: MODEL, ...body }, { signal: leaving.signal });
  const response = await asked;
  leaving.abort();
  await response.text().catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, 2 * LOAD_MS));
  expect(target.engine.running).toBe(0);
  expect(target.admission.running + target.admission.waiting).toBe(0);
});

it('Ollama’s lines have no comments: their client waits for the first', async () => {
  const target = await slowServer();
  const response = await post(target, '/api/chat', { model: MODEL, messages });
  const lines = (await response.text()).trim().split('\n');
  expect(lines.flatMap((line) => Object.keys(JSON.parse(line) as object))).toContain('done');
});
