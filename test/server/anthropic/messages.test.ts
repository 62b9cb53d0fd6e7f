import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { HERMES } from '../../support/chat-formats.ts';
import { post } from '../support/client.ts';
import { namedEventsOf } from '../support/named-events.ts';
import { babbles, MODEL, says, useServers, type TestServer } from '../support/test-server.ts';

const server = useServers();
const PATH = '/v1/messages';
const hello = { max_tokens: 50, messages: [{ role: 'user', content: 'Hi' }] };

async function create(target: TestServer, body: object) {
  const response = await post(target, PATH, body);
  expect(response.status).toBe(200);
  return z.looseObject({}).parse(await response.json());
}

const envelope = z.strictObject({
  type: z.literal('error'),
  error: z.strictObject({
    type: z.string(),
    message: z.string().min(1),
    code: z.literal('context_length_exceeded').optional(),
  }),
  request_id: z.string(),
});

async function errorOf(response: Response, status: number) {
  const { error } = envelope.parse(await response.json());
  expect({ status: response.status, error }).toMatchObject({ status });
  return error;
}

function promptOf({ engine, runtime }: TestServer): string {
  const promptTokenIds = engine.requests.at(-1)?.promptTokenIds ?? [];
  return runtime.tokenizer.decode(promptTokenIds, { skipSpecialTokens: false });
}

describe('/v1/messages', () => {
  test('answers in one piece', async () => {
    const answer = await create(await server(), hello);
    expect(answer).toMatchObject({
      id: expect.stringMatching(/^msg_/),
      type: 'message',
      role: 'assistant',
      model: MODEL,
      content: [{ type: 'text', text: 'Hello there!' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 'user: Hi\nassistant: '.length, output_tokens: 13 },
    });
  });

  test('takes system messages among the others; the first join the system prompt', async () => {
    const target = await server();
    const messages = [
      { role: 'system', content: [{ type: 'text', text: 'Rhyme.' }] },
      { role: 'user', content: 'Hi' },
      { role: 'system', content: 'Now in prose.' },
    ];
    await create(target, { ...hello, system: 'Be brief.', messages });
    expect(promptOf(target)).toBe(
      'system: Be brief.\n\nRhyme.\nuser: Hi\nsystem: Now in prose.\nassistant: ',
    );
  });

  test('streams the events in their order', async () => {
    const target = await server({ script: says('Hi!') });
    const events = await namedEventsOf(await post(target, PATH, { ...hello, stream: true }));
    expect(events).toMatchObject([
      { type: 'message_start', message: { content: [], stop_reason: null } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'ping' },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'H' } },
      { type: 'content_block_delta', delta: { text: 'i' } },
      { type: 'content_block_delta', delta: { text: '!' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } },
      { type: 'message_stop' },
    ]);
  });

  test.each([
    [
      { ...hello, max_tokens: 3 },
      { stop_reason: 'max_tokens', stop_sequence: null },
    ],
    [
      { ...hello, stop_sequences: ['xx'] },
      { stop_reason: 'stop_sequence', stop_sequence: 'xx' },
    ],
  ])('tells what ended %j', async (body, end) => {
    expect(await create(await server({ script: babbles }), body)).toMatchObject(end);
  });

  test('gives an empty text where an answer has none', async () => {
    const answer = await create(await server({ script: says('') }), hello);
    expect(answer).toMatchObject({ content: [{ type: 'text', text: '' }] });
  });

  test('blocks become messages', async () => {
    const target = await server({ maxModelLen: 1000 });
    await create(target, {
      ...hello,
      system: [{ type: 'text', text: 'A.' }],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'B?' }] },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'C.' },
            { type: 'tool_use', id: 't1', name: 'look', input: { at: 1 } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 't1', content: [{ type: 'text', text: 'D' }] },
            { type: 'text', text: 'E?' },
          ],
        },
      ],
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
    });
    // The template shows no calls: they are text.
    const call = '<tool_call>\n{"name": "look", "arguments": {"at": 1}}\n</tool_call>';
    const result = '<tool_response>\nD\n</tool_response>';
    expect(promptOf(target)).toContain(
      `system: A.\nuser: B?\nassistant: C.\n${call}\nuser: ${result}\nE?\n`,
    );
    expect(promptOf(target)).toContain('"function": {"name": "look"');
  });

  test.each([
    ['output_config', (format: object) => ({ output_config: { format } })],
    ['output_format', (format: object) => ({ output_format: format })],
  ])('%s is enforced by a grammar', async (name, fieldsOf) => {
    const target = await server();
    const schema = { type: 'object', properties: { answer: { type: 'integer' } } };
    await create(target, { ...hello, ...fieldsOf({ type: 'json_schema', schema }) });
    expect(target.engine.requests[0]?.grammar).toMatchObject({
      ebnf: expect.stringContaining('answer'),
      field: expect.stringContaining(name),
    });
  });

  test('an answer that was begun is gone on with', async () => {
    const target = await server();
    const begun = { role: 'assistant', content: 'Well' };
    await create(target, { ...hello, messages: [...hello.messages, begun] });
    expect(promptOf(target)).toBe('user: Hi\nassistant: Well');
  });

  test('a failure in mid-stream is an error event', async () => {
    const target = await server({
      *script() {
        yield 5;
        throw new Error('engine trouble');
      },
    });
    const events = await namedEventsOf(await post(target, PATH, { ...hello, stream: true }));
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { type: 'api_error' } });
    expect(JSON.stringify(events)).not.toContain('engine trouble');
  });

  test('a client that goes away frees the row', async () => {
    const { url, engine } = await server({ script: babbles, engine: { heldAfter: 1 } });
    const abort = new AbortController();
    const body = { ...hello, stream: true };
    const response = await post({ url }, PATH, body, { signal: abort.signal });
    await response.body?.getReader().read();
    abort.abort();
    await vi.waitFor(() => expect(engine).toMatchObject({ running: 0, aborted: 1 }));
  });

  test.each([
    [{ messages: hello.messages }, 'max_tokens'],
    [{ max_tokens: 5 }, 'messages'],
    [{ ...hello, messages: [] }, 'messages'],
    [{ ...hello, messages: [{ role: 'tool', content: 'x' }] }, 'messages.0.role'],
    [
      { ...hello, messages: [{ role: 'user', content: [{ type: 'video' }] }] },
      'messages.0.content.0.type',
    ],
    [{ ...hello, tools: [{ name: 'bash' }] }, 'tools.0.input_schema'],
    [{ ...hello, max_tokens: 9999 }, 'max_tokens'],
    [{ ...hello, output_config: { format: { type: 'xml' } } }, 'output_config.format.type'],
    [{ ...hello, output_format: { type: 'json_schema' } }, 'output_format.schema'],
    [
      {
        ...hello,
        output_config: { format: { type: 'json_schema', schema: {} } },
        output_format: { type: 'json_schema', schema: {} },
      },
      'output_format',
    ],
    [{ ...hello, mcp_servers: [{ type: 'url', url: 'http://x', name: 'x' }] }, 'mcp_servers'],
    [{ ...hello, container: 'c' }, 'container'],
  ])('refuses %j', async (body, field) => {
    const error = await errorOf(await post(await server(), PATH, body), 400);
    expect(error.type).toBe('invalid_request_error');
    expect(error.message).toContain(`\`${field}`);
  });

  test('errors of other kinds have the envelope too', async () => {
    const target = await server({ config: { apiKeys: ['key'] } });
    expect(await errorOf(await post(target, PATH, hello), 401)).toMatchObject({
      type: 'authentication_error',
    });
    const headers = { 'x-api-key': 'key' };
    const unknown = await post(target, PATH, { ...hello, model: 'other' }, { headers });
    expect(await errorOf(unknown, 404)).toMatchObject({ type: 'not_found_error' });
    expect(await errorOf(await post(target, PATH, '{', { headers }), 400)).toMatchObject({
      type: 'invalid_request_error',
    });
  });
});

test('count_tokens counts what would be the prompt', async () => {
  const target = await server();
  const body = { system: 'A.', messages: hello.messages };
  const response = await post(target, `${PATH}/count_tokens`, body);
  expect(await response.json()).toEqual({
    input_tokens: 'system: A.\nuser: Hi\nassistant: '.length,
  });
  expect(target.engine.requests).toHaveLength(0);
});

describe('what coding agents send', () => {
  test("Anthropic's own tools and their blocks are left out", async () => {
    const target = await server({ maxModelLen: 2000 });
    const answer = await create(target, {
      max_tokens: 5,
      tools: [
        { type: 'web_search_20250305', name: 'web_search' },
        { name: 'look', input_schema: { type: 'object' } },
      ],
      messages: [
        { role: 'user', content: 'Search.' },
        {
          role: 'assistant',
          content: [
            { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'secret' } },
            { type: 'text', text: 'Found.' },
          ],
        },
        { role: 'user', content: 'And?' },
      ],
    });
    expect(answer['warnings']).toEqual([
      "Tools of type 'web_search_20250305' were left out: this server does not run them.",
    ]);
    expect(promptOf(target)).toContain('assistant: Found.');
    expect(promptOf(target)).not.toContain('secret');
  });

  test.each([
    [true, false],
    [false, true],
  ])('disable_parallel_tool_use %s lets several calls be: %s', async (isOff, expected) => {
    const target = await server({
      maxModelLen: 2000,
      chatFormat: { toolCalls: HERMES, reasoning: null },
    });
    await create(target, {
      max_tokens: 5,
      tools: [{ name: 'look', input_schema: { type: 'object' } }],
      tool_choice: { type: 'any', disable_parallel_tool_use: isOff },
      messages: [{ role: 'user', content: 'Look.' }],
    });
    const ebnf = target.engine.requests.at(-1)?.grammar?.ebnf ?? '';
    expect(ebnf).toContain('look');
    expect(ebnf.includes('{0,15}')).toBe(expected);
  });

  test('documents in words, results of a search and found tools are read', async () => {
    const target = await server({ maxModelLen: 2000 });
    const data = { type: 'text', media_type: 'text/plain', data: 'Hens lay eggs.' };
    const found = [
      {
        type: 'search_result',
        source: 'x',
        title: 'Eggs',
        content: [{ type: 'text', text: 'A.' }],
      },
      { type: 'tool_reference', tool_name: 'look' },
    ];
    await create(target, {
      max_tokens: 5,
      messages: [
        { role: 'user', content: [{ type: 'document', title: 'Hens', source: data }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'find', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: found }] },
      ],
    });
    expect(promptOf(target)).toContain('user: Hens\nHens lay eggs.');
    expect(promptOf(target)).toContain('Eggs\nA.\nlook');
  });

  test('pictures are refused by name', async () => {
    const source = { type: 'base64', media_type: 'application/pdf', data: 'x' };
    const content = [{ type: 'document', source }];
    const body = { max_tokens: 5, messages: [{ role: 'user', content }] };
    const { message } = await errorOf(await post(await server(), PATH, body), 400);
    expect(message).toContain('in text alone');
  });

  test('a line that changes each turn is no part of the prompt', async () => {
    const target = await server();
    const ask = async (line: string) => {
      const system = [
        { type: 'text', text: line },
        { type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } },
      ];
      await create(target, { ...hello, system });
      return promptOf(target);
    };
    const first = await ask('x-anthropic-billing-header: cc_version=2.1; cch=00001;');
    expect(await ask('x-anthropic-billing-header: cc_version=2.1; cch=00002;')).toBe(first);
    expect(first).toBe('system: Be brief.\nuser: Hi\nassistant: ');
  });
});
