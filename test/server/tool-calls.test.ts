import { OpenAI } from 'openai';
import { describe, expect, test } from 'vitest';
import { GrammarError } from '../../src/grammar/grammar-spec.ts';
import { errorOf, post } from './support/client.ts';
import { MODEL, says, useServers, type TestServerOptions } from './support/test-server.ts';
import { HERMES, THINK } from '../support/chat-formats.ts';

type ToolCallDelta = OpenAI.Chat.Completions.ChatCompletionChunk.Choice.Delta.ToolCall;

const server = useServers();
const messages = [{ role: 'user' as const, content: 'Hi' }];
const WEATHER = {
  name: 'get_weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const tools = [{ type: 'function' as const, function: WEATHER }];
const call = '{"name": "get_weather", "arguments": {"city": "Oslo"}}';
const tagged = `<tool_call>\n${call}\n</tool_call>`;
const chatFormat = { toolCalls: HERMES, reasoning: null };

async function clientOf(options: TestServerOptions) {
  const target = await server({ chatFormat, maxModelLen: 2000, ...options });
  return {
    target,
    client: new OpenAI({ baseURL: `${target.url}/v1`, apiKey: 'k', maxRetries: 0 }),
  };
}

describe('tool calls', () => {
  test('come in one piece', async () => {
    const { client } = await clientOf({ script: says(`I look.\n${tagged}\n${tagged}`) });
    const answer = await client.chat.completions.create({ model: MODEL, messages, tools });
    const [choice] = answer.choices;
    expect(choice?.finish_reason).toBe('tool_calls');
    expect(choice?.message.content).toBe('I look.');
    const expected = {
      id: expect.stringMatching(/^call_/),
      type: 'function',
      function: { name: 'get_weather', arguments: '{"city": "Oslo"}' },
    };
    expect(choice?.message.tool_calls).toEqual([expected, expected]);
    expect(new Set(choice?.message.tool_calls?.map(({ id }) => id)).size).toBe(2);
  });

  test('are streamed: the name first, then the arguments in pieces', async () => {
    const { client } = await clientOf({ script: says(tagged) });
    const stream = client.chat.completions.stream({ model: MODEL, messages, tools });
    const deltas: ToolCallDelta[] = [];
    for await (const chunk of stream) deltas.push(...(chunk.choices[0]?.delta.tool_calls ?? []));
    const [first, ...rest] = deltas;
    expect(first).toMatchObject({ index: 0, type: 'function', function: { name: 'get_weather' } });
    expect(rest.every((delta) => delta.function?.name === undefined)).toBe(true);
    const pieces = rest.map((delta) => delta.function?.arguments ?? '');
    expect(pieces.join('')).toBe('{"city": "Oslo"}');
    expect(pieces.length).toBeGreaterThan(3);
    const answer = await stream.finalChatCompletion();
    expect(answer.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { tool_calls: [{ function: { arguments: '{"city": "Oslo"}' } }] },
    });
  });

  test.each([
    ['broken', '<tool_call>{"name": "get_weather", oops'],
    ['without a name', '<tool_call>{"arguments": {}}</tool_call>'],
  ])('%s are content', async (_, text) => {
    const { client } = await clientOf({ script: says(text) });
    const answer = await client.chat.completions.create({ model: MODEL, messages, tools });
    expect(answer.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: text } });
    const stream = client.chat.completions.stream({ model: MODEL, messages, tools });
    expect(await stream.finalContent()).toBe(text);
  });

  test('of a tool that there is not are calls: clients tell the model so', async () => {
    const text = '<tool_call>{"name": "fly", "arguments": {}}</tool_call>';
    const { client } = await clientOf({ script: says(text) });
    const answer = await client.chat.completions.create({ model: MODEL, messages, tools });
    expect(answer.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { content: null, tool_calls: [{ function: { name: 'fly', arguments: '{}' } }] },
    });
  });

  test('cut short by max_tokens have the arguments that came, streamed or not', async () => {
    const { client, target } = await clientOf({ script: says(`${tagged}\n${tagged}`) });
    const body = { model: MODEL, messages, tools };
    const cutWithin = { ...body, max_tokens: 61 };
    const expected = [{ function: { name: 'get_weather', arguments: '{"city": "Os' } }];
    const whole = await client.chat.completions.create(cutWithin);
    expect(whole.choices[0]).toMatchObject({
      finish_reason: 'length',
      message: { content: null, tool_calls: expected },
    });
    let streamed = '';
    for await (const chunk of await client.chat.completions.create({
      ...cutWithin,
      stream: true,
    })) {
      expect(chunk.choices[0]?.delta.content ?? '').toBe('');
      streamed += chunk.choices[0]?.delta.tool_calls?.[0]?.function?.arguments ?? '';
    }
    expect(streamed).toBe('{"city": "Os');
    // In the markup of the second call.
    const second = await client.chat.completions.create({
      ...body,
      max_tokens: tagged.length + 10,
    });
    expect(second.choices[0]?.message).toMatchObject({
      content: null,
      tool_calls: [{ function: { arguments: '{"city": "Oslo"}' } }],
    });
    // Ollama's clients run what they get: it must be whole.
    const asked = { messages, tools, stream: false, options: { num_predict: 61 } };
    const ollama = await (await post(target, '/api/chat', asked)).json();
    expect(ollama).toMatchObject({ message: { content: tagged.slice(0, 61) } });
    expect(ollama).not.toHaveProperty('message.tool_calls');
  });

  test('are not looked for without tools, or with tool_choice none', async () => {
    const { client } = await clientOf({ script: says(tagged) });
    for (const fields of [{}, { tools, tool_choice: 'none' as const }]) {
      const answer = await client.chat.completions.create({ model: MODEL, messages, ...fields });
      expect(answer.choices[0]).toMatchObject({
        finish_reason: 'stop',
        message: { content: tagged },
      });
    }
  });

  test('of strict tools come with a grammar of texts that may call them, over every API', async () => {
    const target = await server({ chatFormat, maxModelLen: 2000 });
    const { name, parameters } = WEATHER;
    const strict = { ...WEATHER, strict: true };
    const asked = [
      ['/v1/chat/completions', { messages, tools: [{ type: 'function', function: strict }] }],
      ['/v1/responses', { input: 'Hi', tools: [{ type: 'function', ...strict }] }],
      [
        '/v1/messages',
        { messages, max_tokens: 9, tools: [{ name, input_schema: parameters, strict: true }] },
      ],
    ] as const;
    for (const [path, body] of asked) await post(target, path, body);
    const [chat, ...others] = target.engine.requests.map(({ grammar }) => grammar?.ebnf);
    expect(chat).toContain('get\\u005fweather');
    // Before a call and after it stands any text.
    expect(chat).toContain('[^\\u003c]*');
    expect(others).toEqual([chat, chat]);
    await post(target, '/v1/chat/completions', { messages, tools });
    expect(target.engine.requests.at(-1)?.grammar ?? null).toBeNull();
  });

  test('that are required come with a grammar of the tools', async () => {
    const { client, target } = await clientOf({ script: says(tagged) });
    const named = { type: 'function' as const, function: { name: 'get_weather' } };
    for (const tool_choice of ['required' as const, named]) {
      await client.chat.completions.create({ model: MODEL, messages, tools, tool_choice });
    }
    const [required, byName] = target.engine.requests.map(({ grammar }) => grammar?.ebnf ?? '');
    expect(required).toContain('get\\u005fweather');
    // Several may be required, but one named is called once.
    expect(required).toContain('{0,15}');
    expect(byName).not.toContain('{0,15}');
  });
});

describe('allowed_tools', () => {
  const other = { type: 'function' as const, function: { name: 'sing' } };
  const choose = (mode: 'auto' | 'required', name: string) => ({
    type: 'allowed_tools' as const,
    allowed_tools: { mode, tools: [{ type: 'function', function: { name } }] },
  });

  test('lets one of these be called, and requires it if told so', async () => {
    const { client, target } = await clientOf({ script: says(tagged) });
    const body = { model: MODEL, messages, tools: [...tools, other] };
    const answer = await client.chat.completions.create({
      ...body,
      tool_choice: choose('required', 'get_weather'),
    });
    expect(answer.choices[0]?.message.tool_calls).toHaveLength(1);
    const [request] = target.engine.requests;
    expect(request?.grammar?.ebnf).toContain('get\\u005fweather');
    expect(request?.grammar?.ebnf).not.toContain('sing');
    const prompt = target.runtime.tokenizer.decode(request?.promptTokenIds ?? [], {
      skipSpecialTokens: false,
    });
    expect(prompt).toContain('get_weather');
    expect(prompt).not.toContain('sing');
  });

  test('calls of the others are text', async () => {
    const { client } = await clientOf({ script: says(tagged) });
    const body = { model: MODEL, messages, tools: [...tools, other] };
    const answer = await client.chat.completions.create({
      ...body,
      tool_choice: choose('auto', 'sing'),
    });
    expect(answer.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { content: tagged },
    });
  });

  test.each(['/v1/chat/completions', '/v1/responses'])(
    'of %s names tools that there are',
    async (path) => {
      const target = await server({ chatFormat });
      const named = [{ type: 'function', name: 'fly', function: { name: 'fly' } }];
      const allowed = { mode: 'auto', tools: named };
      const body = {
        messages,
        input: 'Hi',
        tools: tools.map((tool) => ({ ...tool, ...tool.function })),
        tool_choice: { type: 'allowed_tools', ...allowed, allowed_tools: allowed },
      };
      const error = await errorOf(await post(target, path, body), 400);
      expect(error).toMatchObject({ param: 'tool_choice', code: 'invalid_value' });
      expect(error.message).toContain('`fly`');
    },
  );
});

describe('reasoning', () => {
  const thinking = { toolCalls: HERMES, reasoning: THINK };

  test('is split from content and tool calls', async () => {
    const { client } = await clientOf({
      script: says(`<think>\nHm.\n</think>\n\nSo: ${tagged}`),
      chatFormat: thinking,
    });
    const answer = await client.chat.completions.create({ model: MODEL, messages, tools });
    expect(answer.choices[0]?.message).toMatchObject({
      reasoning_content: 'Hm.',
      reasoning: 'Hm.',
      content: 'So:',
    });
    expect(answer.choices[0]?.message.tool_calls).toHaveLength(1);
    const stream = await client.chat.completions.create({ model: MODEL, messages, stream: true });
    const deltas: object[] = [];
    for await (const chunk of stream) deltas.push(chunk.choices[0]?.delta ?? {});
    const reasoning = deltas.map((delta) =>
      'reasoning_content' in delta ? delta.reasoning_content : '',
    );
    expect(reasoning.join('')).toBe('Hm.');
  });
});

describe('structured output', () => {
  test('reaches the engine, over every API', async () => {
    const target = await server({ chatFormat });
    const format = { response_format: { type: 'json_object' } };
    await post(target, '/v1/chat/completions', { messages, ...format });
    await post(target, '/v1/completions', { prompt: 'Hi', ...format, ignore_eos: true });
    const [chat, text] = target.engine.requests;
    expect(chat?.grammar?.ebnf).toContain('root ::=');
    expect(text?.grammar).toEqual({ ...chat?.grammar });
    // Without an end token a grammar could never end.
    expect(text?.stopTokenIds).not.toEqual([]);
  });

  test.each(['schema', 'value'])('takes a schema as the `%s` of json_object', async (field) => {
    const target = await server();
    const schema = { type: 'object', properties: { answer: { type: 'integer' } } };
    const ask = (format: object) =>
      post(target, '/v1/chat/completions', {
        messages,
        response_format: { type: 'json_object', ...format },
      });
    expect((await ask({ [field]: schema })).status).toBe(200);
    expect(target.engine.requests[0]?.grammar).toMatchObject({
      ebnf: expect.stringContaining('answer'),
      field: `response_format.${field}`,
    });
    const bad = await errorOf(await ask({ [field]: 'no schema' }), 400);
    expect(bad.param).toBe(`response_format.${field}`);
    const both = await errorOf(await ask({ schema, value: schema }), 400);
    expect(both.message).toContain('exclude each other');
  });

  test('that does not compile is refused with the reason, and the next request runs', async () => {
    const target = await server({
      grammars: { check: async () => Promise.reject(new GrammarError('Rule "b" is not defined')) },
    });
    const body = { messages, structured_outputs: { grammar: 'root ::= b' }, stream: true };
    const error = await errorOf(await post(target, '/v1/chat/completions', body), 400);
    expect(error).toMatchObject({ param: 'structured_outputs.grammar', code: 'invalid_value' });
    expect(error.message).toContain('Rule "b" is not defined');
    expect((await post(target, '/v1/chat/completions', { messages })).status).toBe(200);
  });
});

describe('custom tools', () => {
  const format = { syntax: 'lark' as const, definition: 'start: "ls" | "pwd"' };
  const shell = {
    type: 'custom' as const,
    custom: { name: 'shell', format: { type: 'grammar' as const, grammar: format } },
  };
  const written = `<tool_call>\n{"name": "shell", "arguments": {"input": "ls"}}\n</tool_call>`;
  const both = [...tools, shell];

  test('are called with a text of their grammar', async () => {
    const { client, target } = await clientOf({ script: says(`${written}\n${tagged}`) });
    const answer = await client.chat.completions.create({ model: MODEL, messages, tools: both });
    expect(answer.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: {
        tool_calls: [
          { type: 'custom', custom: { name: 'shell', input: 'ls' } },
          { type: 'function', function: { name: 'get_weather' } },
        ],
      },
    });
    expect(target.engine.requests[0]?.grammar?.ebnf).toContain('"ls" | "pwd"');
  });

  test('are told in a stream once their text is known', async () => {
    const { client } = await clientOf({ script: says(`${written}\n${tagged}`) });
    const body = { model: MODEL, messages, tools: both, stream: true as const };
    const deltas: ToolCallDelta[] = [];
    for await (const chunk of await client.chat.completions.create(body)) {
      deltas.push(...(chunk.choices[0]?.delta.tool_calls ?? []));
    }
    expect(deltas.slice(0, 3)).toEqual([
      {
        index: 0,
        id: expect.stringMatching(/^call_/) as unknown,
        type: 'custom',
        custom: { name: 'shell', input: '' },
      },
      { index: 0, custom: { input: 'ls' } },
      expect.objectContaining({ index: 1, type: 'function' }),
    ]);
  });

  test('can be named, and come with the conversation', async () => {
    const { client, target } = await clientOf({ script: says(written) });
    await client.chat.completions.create({
      model: MODEL,
      messages: [
        ...messages,
        {
          role: 'assistant',
          tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'shell', input: 'pwd' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: '/' },
      ],
      tools: both,
      tool_choice: { type: 'custom', custom: { name: 'shell' } },
    });
    const [request] = target.engine.requests;
    const { tokenizer } = target.runtime;
    const prompt = tokenizer.decode(request?.promptTokenIds ?? [], { skipSpecialTokens: false });
    expect(prompt).toContain('{"name": "shell", "arguments": {"input": "pwd"}}');
    expect(request?.grammar?.ebnf).not.toContain('get_weather');
  });
});
