/** Streams that begin while their model is being loaded. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { modelDefinition } from '../front/registry/fake-loader.ts';
import { acceptedSockets } from './support/accepted.ts';
import { post } from './support/client.ts';
import { MODEL, useServers } from './support/test-server.ts';

const server = useServers();

const PING_MS = 5;

/** A server whose model is there, or has failed, once `load` is called. */
async function loading(flags: Record<string, string> = {}) {
  let load = (): void => {};
  const mayLoad = new Promise<void>((resolve) => (load = resolve));
  const target = await server({
    control: 'auto',
    models: [modelDefinition(MODEL, flags)],
    config: { ssePingMs: PING_MS },
    mayLoad,
  });
  return { target, load };
}

/** All of a stream. @param then is called when some comments have come */
async function textOf({ body }: Response, then: () => void): Promise<string> {
  let text = '';
  for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += piece;
    if ((text.match(/^: ping$/gm)?.length ?? 0) > 3) then();
  }
  return text;
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
  const { target, load } = await loading();
  const response = await post(target, path, { model: MODEL, ...body });
  expect(response.headers.get('content-type')).toContain('text/event-stream');
  const text = await textOf(response, load);
  const [first = ''] = text.slice(text.indexOf('data:')).split('\n');
  expect(first).toContain(firstEvent);
  expect(text).not.toMatch(/event: error|"error": ?[{"]/);
});

it.each(BODIES)('%s hears as an event that its model cannot be loaded', async (path, body) => {
  const { target, load } = await loading({ failure: 'the disk is gone' });
  const response = await post(target, path, { model: MODEL, ...body });
  expect(response.status).toBe(200);
  expect(await textOf(response, load)).toContain('the disk is gone');
});

it.each(BODIES)('%s leaves nothing in use when its client goes', async (path, body) => {
  const accepted = acceptedSockets();
  const { target, load } = await loading();
  const leaving = new AbortController();
  await post(target, path, { model: MODEL, ...body }, { signal: leaving.signal });
  leaving.abort();
  await vi.waitFor(() => expect(accepted()[0]?.destroyed).toBe(true));
  load();
  await vi.waitFor(() => expect(target.context.models.list()).toMatchObject([{ state: 'ready' }]));
  // Another one that comes now is served, and by then this one would be.
  await (await post(target, '/v1/completions', { model: MODEL, prompt: 'other' })).text();
  expect(target.engine.requests).toHaveLength(1);
  expect(target.admission.running + target.admission.waiting).toBe(0);
});

it('Ollama’s lines have no comments: their client waits for the first', async () => {
  const { target, load } = await loading();
  const asked = post(target, '/api/chat', { model: MODEL, messages });
  await sleep(10 * PING_MS);
  load();
  const lines = (await (await asked).text()).trim().split('\n');
  expect(lines.flatMap((line) => Object.keys(JSON.parse(line) as object))).toContain('done');
});

it('Ollama’s clients hear by the status that a model cannot be loaded', async () => {
  const { target, load } = await loading({ failure: 'the disk is gone' });
  const asked = post(target, '/api/chat', { model: MODEL, messages });
  await sleep(10 * PING_MS);
  load();
  expect((await asked).status).toBe(503);
});
