/** Conversations that are summed up before they are answered, by OpenAI's own client. */
import { OpenAI } from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { afterEach, describe, expect, it, test } from 'vitest';
import { ApiKeys, unnamedKeys } from '../../../src/server/auth/api-keys.ts';
import type { Script } from '../../support/fake-engine.ts';
import { errorOf, post } from '../support/client.ts';
import { MODEL, says, tokensOf, type TestServer, useServers } from '../support/test-server.ts';

const server = useServers();
const PATH = '/v1/responses';
const SUMMARY = 'A boat is built.';

type Input = OpenAI.Responses.ResponseInput;

function clientOf(target: TestServer, apiKey = 'k'): OpenAI {
  return new OpenAI({ baseURL: `${target.url}/v1`, apiKey, maxRetries: 0 });
}

function promptsOf({ engine, runtime }: TestServer): string[] {
  return engine.requests.map(({ promptTokenIds }) =>
    runtime.tokenizer.decode(promptTokenIds, { skipSpecialTokens: false }),
  );
}

const SUMMARIZING = tokensOf('call no tools.').join();

function isSummary(promptTokenIds: Int32Array): boolean {
  return promptTokenIds.join().includes(SUMMARIZING);
}

const script: Script = (prompt) => tokensOf(isSummary(prompt) ? SUMMARY : 'Red.');

const CHAT: Input = [
  { role: 'user', content: 'Build a boat.' },
  { role: 'assistant', content: `Built. ${'It floats. '.repeat(20)}` },
  { role: 'user', content: 'Paint it.' },
];

function compaction(compact_threshold: number | null = null) {
  return { context_management: [{ type: 'compaction', compact_threshold }] };
}

const options = { script, maxModelLen: 4000 };

describe('a conversation above the threshold', () => {
  it('is summed up first, and the answer begins with the summary', async () => {
    const target = await server(options);
    const asked = { model: MODEL, input: CHAT, ...compaction(100) };
    const response = await clientOf(target).responses.create(asked);
    expect(response.output).toMatchObject([
      { type: 'compaction', encrypted_content: expect.stringMatching(/^[\w-]+$/) as unknown },
      { type: 'message', status: 'completed' },
    ]);
    expect(response.output_text).toBe('Red.');
    expect(JSON.stringify(response)).not.toContain(SUMMARY);
    const [first = '', second = ''] = promptsOf(target);
    expect(first).toContain('It floats.');
    expect(second).toContain(`which was shortened:\n\n${SUMMARY}`);
    expect(second).toContain('Build a boat.');
    expect(second).toContain('Paint it.');
    expect(second).not.toContain('It floats.');
    const [summary, answer] = target.engine.requests;
    expect(summary?.tier).toBeGreaterThan(answer?.tier ?? NaN);
    const tokens = target.engine.requests.map(({ promptTokenIds }) => promptTokenIds.length);
    expect(response.usage).toMatchObject({
      input_tokens: tokens.reduce((sum, each) => sum + each, 0),
      output_tokens: SUMMARY.length + 'Red.'.length + 2,
    });
  });

  it('is streamed: the summary as an item, before the first of the answer', async () => {
    const target = await server(options);
    const asked = { model: MODEL, input: CHAT, ...compaction(100) };
    const stream = clientOf(target).responses.stream(asked);
    const events: OpenAI.Responses.ResponseStreamEvent[] = [];
    for await (const event of stream) events.push(event);
    expect(events.slice(0, 5).map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.output_item.done',
      'response.output_item.added',
    ]);
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, i) => i));
    expect(events[3]).toMatchObject({ output_index: 0, item: { type: 'compaction' } });
    expect(events[4]).toMatchObject({ output_index: 1, item: { type: 'message' } });
    const { output, output_text } = await stream.finalResponse();
    expect(output.map(({ type }) => type)).toEqual(['compaction', 'message']);
    expect(output_text).toBe('Red.');
  });

  it('may be longer than the context of the model', async () => {
    const target = await server({ script, maxModelLen: 600 });
    const client = clientOf(target);
    const long = { role: 'assistant' as const, content: 'It floats. '.repeat(60) };
    const input = [{ role: 'user' as const, content: 'Build a boat.' }, long];
    await expect(client.responses.create({ model: MODEL, input })).rejects.toMatchObject({
      code: 'context_length_exceeded',
    });
    const { output_text } = await client.responses.create({ model: MODEL, input, ...compaction() });
    expect(output_text).toBe('Red.');
  });

  it('is summed up once, and refused before that if what remains is too long', async () => {
    const target = await server({ script, maxModelLen: 600 });
    const input = [
      { role: 'user', content: 'Build a boat. '.repeat(60) },
      { role: 'assistant', content: 'Built.' },
    ];
    const refused = await post(target, PATH, { input, ...compaction(1) });
    expect((await errorOf(refused, 400)).code).toBe('context_length_exceeded');
    expect(target.engine.requests).toHaveLength(0);
  });

  it('is gone on with from its summary, by id and item by item', async () => {
    const target = await server(options);
    const client = clientOf(target);
    const first = await client.responses.create({ model: MODEL, input: CHAT, ...compaction(100) });
    const next = { role: 'user' as const, content: 'And now?' };
    const kept = { previous_response_id: first.id, input: [next] };
    await client.responses.create({ model: MODEL, ...kept });
    const sent = [...CHAT, ...first.output, next] as Input;
    await client.responses.create({ model: MODEL, input: sent, store: false });
    const [, , third = '', fourth] = promptsOf(target);
    expect(third).toMatch(new RegExp(`Paint it\\.[^]*${SUMMARY}[^]*Red\\.[^]*And now\\?`));
    expect(third).not.toContain('It floats.');
    expect(fourth).toBe(third);
    const short = [...first.output, next] as Input;
    await client.responses.create({ model: MODEL, input: short });
    expect(promptsOf(target)[4]).not.toContain('Paint it.');
  });

  it('stands whole in its conversation', async () => {
    const client = clientOf(await server(options));
    const { id: conversation } = await client.conversations.create({ items: CHAT });
    const asked = { model: MODEL, input: 'And now?', conversation, ...compaction(100) };
    await client.responses.create(asked);
    const { data } = await client.conversations.items.list(conversation, { order: 'asc' });
    const types = data.map(({ type }) => type);
    expect(types).toEqual([...Array<string>(4).fill('message'), 'compaction', 'message']);
  });

  it('keeps tools and their results out of what is read again', async () => {
    const target = await server(options);
    const input: Input = [
      { role: 'user', content: 'Paint it.' },
      { type: 'function_call', call_id: 'c1', name: 'paint', arguments: '{"color":"red"}' },
      { type: 'function_call_output', call_id: 'c1', output: 'wet '.repeat(30) },
    ];
    const client = clientOf(target);
    const { output } = await client.responses.create({ model: MODEL, input, ...compaction(100) });
    const late = { type: 'function_call_output' as const, call_id: 'c1', output: 'dry' };
    await client.responses.create({ model: MODEL, input: [...input, ...output, late] as Input });
    const [summary, ...read] = promptsOf(target);
    expect(summary).toContain('wet wet');
    for (const prompt of read) expect(prompt).not.toMatch(/wet|dry/);
  });

  it('ends with its client, and is cancelled in the background', async () => {
    const target = await server({ ...options, engine: { heldAfter: 1 } });
    const client = clientOf(target);
    const asked = { model: MODEL, input: CHAT, ...compaction(100) };
    const { id } = await client.responses.create({ ...asked, background: true });
    await client.responses.cancel(id);
    await expect.poll(() => target.engine.running).toBe(0);
    const stream = await client.responses.create({ ...asked, stream: true });
    for await (const { type } of stream) if (type === 'response.in_progress') break;
    stream.controller.abort();
    await expect.poll(() => target.engine.running).toBe(0);
    expect(target.engine.requests).toHaveLength(2);
  });

  it('fails when the model writes no summary', async () => {
    const target = await server({ ...options, script: says(' ') });
    const failed = await post(target, PATH, { input: CHAT, ...compaction(100) });
    expect((await errorOf(failed, 500)).message).toContain('no summary');
  });
});

test('a conversation is answered as it is up to the threshold, or if all of it is what the user said', async () => {
  const target = await server(options);
  const { responses } = clientOf(target);
  const { input_tokens: count } = await responses.inputTokens.count({ model: MODEL, input: CHAT });
  const types = async (input: Input | string, threshold?: number | null) => {
    const { output } = await responses.create({ model: MODEL, input, ...compaction(threshold) });
    return output.map(({ type }) => type);
  };
  expect(await types(CHAT, count)).toEqual(['message']);
  expect(await types(CHAT, null)).toEqual(['message']);
  expect(await types('Hi', 1)).toEqual(['message']);
  expect(await types(CHAT, count - 1)).toEqual(['compaction', 'message']);
  const counted = await post(target, `${PATH}/input_tokens`, { input: CHAT, ...compaction(1) });
  expect(await counted.json()).toMatchObject({ input_tokens: count });
});

test('what cannot be a threshold is refused, and more than one', async () => {
  const target = await server(options);
  const paramOf = async (list: unknown) =>
    (await errorOf(await post(target, PATH, { input: CHAT, context_management: list }), 400)).param;
  for (const threshold of [0, -1, 1.5, 1e300, '1000', {}]) {
    expect(await paramOf(compaction(threshold as number).context_management)).toBe(
      'context_management.0.compact_threshold',
    );
  }
  expect(await paramOf([{ type: 'forgetting' }])).toBe('context_management.0.type');
  const [entry] = compaction(100).context_management;
  expect(await paramOf([entry, entry])).toBe('context_management');
  expect(await paramOf(entry)).toBe('context_management');
  expect(target.engine.requests).toHaveLength(0);
});

test('an answer after a summary stays on its server', async () => {
  const resumeKey = '0123456789abcdef'.repeat(4);
  const target = await server({ ...options, resumeKey });
  const asked = { input: CHAT, stream: true };
  const stays = await post(target, PATH, { ...asked, ...compaction(100) });
  expect(stays.headers.get('x-resume-token')).toBeNull();
  const numbers = Array.from(
    (await stays.text()).matchAll(/"sequence_number":(\d+)/g),
    ([, number]) => Number(number),
  );
  expect(numbers).toEqual(numbers.map((_, index) => index));
  expect(numbers.length).toBeGreaterThan(8);
  const token = (await post(target, PATH, asked)).headers.get('x-resume-token');
  const resume = { token, counts: [1], events: 3 };
  expect((await post(target, PATH, { ...asked, resume })).status).toBe(200);
  const refused = await post(target, PATH, { ...asked, resume, ...compaction(100) });
  expect((await errorOf(refused, 409)).code).toBe('cannot_resume');
});

test('the next turn that is computed ahead is that of the answer alone', async () => {
  const expected: string[] = [];
  const nextTurns = {
    expect: async (_: unknown, { content }: { content: string }) => void expected.push(content),
  };
  const target = await server({ ...options, nextTurns: () => nextTurns });
  const asked = { model: MODEL, input: CHAT, ...compaction(100) };
  await clientOf(target).responses.create(asked);
  expect(expected).toEqual(['Red.']);
});

test('a summary and its answer end together when their time is over', async () => {
  const target = await server({ ...options, engine: { heldAfter: 1 } });
  const late = await post(target, PATH, { input: CHAT, timeout: 0.2, ...compaction(100) });
  await errorOf(late, 504);
  expect(target.engine.running).toBe(0);
});

test('a summary is open for the key alone that it was written for', async () => {
  const keys = new ApiKeys(unnamedKeys(['key-a', 'key-b']));
  const target = await server({ ...options, keys });
  const asked = { model: MODEL, input: CHAT, ...compaction(100) };
  const { output } = await clientOf(target, 'key-a').responses.create(asked);
  const other = clientOf(target, 'key-b').responses.create({ ...asked, input: output as Input });
  await expect(other).rejects.toMatchObject({ status: 400, param: 'input.0.encrypted_content' });
});

describe('over WebSocket', () => {
  const sockets: ResponsesWS[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.close();
  });

  it('the same events come', async () => {
    const socket = new ResponsesWS(clientOf(await server(options)));
    sockets.push(socket);
    const items: string[] = [];
    socket.on('response.output_item.done', ({ item }) => items.push(item.type));
    const completed = new Promise<void>((resolve) => {
      socket.on('response.completed', () => resolve());
    });
    const create = { type: 'response.create' as const, model: MODEL, input: CHAT };
    socket.send({ ...create, ...compaction(100) });
    await completed;
    expect(items).toEqual(['compaction', 'message']);
  });
});
