import { OpenAI } from 'openai';
import { describe, expect, test } from 'vitest';
import { TOOL_CALL_FORMATS } from '../../src/front/chat/tool-calls/formats.ts';
import { GrammarError } from '../../src/grammar/grammar-spec.ts';
import { errorOf, post } from './support/client.ts';
import { MODEL, says, useServers, type TestServerOptions } from './support/test-server.ts';

type ToolCallDelta = OpenAI.Chat.Completions.ChatCompletionChunk.Choice.Delta.ToolCall;

const server = useServers();
const messages = [{ role: 'user' as const, content: 'Hi' }];
const tools = [
  {
    type: 'function' as const,
    function: {
      name: 'get_weather',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
];
const call = '{"name": "get_weather", "arguments": {"city": "Oslo"}}';
const tagged = `<tool_call>\n${call}\n</tool_call>`;
const chatFormat = { toolCalls: TOOL_CALL_FORMATS.hermes, reasoning: false };

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
    ['of an unknown tool', '<tool_call>{"name": "rm", "arguments": {}}</tool_call>'],
  ])('%s are content', async (_, text) => {
    const { client } = await clientOf({ script: says(text) });
    const answer = await client.chat.completions.create({ model: MODEL, messages, tools });
    expect(answer.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: text } });
    const stream = client.chat.completions.stream({ model: MODEL, messages, tools });
    expect(await stream.finalContent()).toBe(text);
  });

  test('cut short by max_tokens are content in one piece', async () => {
    const { client } = await clientOf({ script: says(tagged) });
    const body = { model: MODEL, messages, tools, max_tokens: 60 };
    const answer = await client.chat.completions.create(body);
    expect(answer.choices[0]).toMatchObject({
      finish_reason: 'length',
      message: { content: tagged.slice(0, 60) },
    });
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

describe('reasoning', () => {
  const thinking = { toolCalls: TOOL_CALL_FORMATS.hermes, reasoning: true };

  test('is split from content and tool calls', async () => {
    const { client } = await clientOf({
      script: says(`<think>\nHm.\n</think>\n\nSo: ${tagged}`),
      chatFormat: thinking,
    });
    const answer = await client.chat.completions.create({ model: MODEL, messages, tools });
    expect(answer.choices[0]?.message).toMatchObject({ reasoning_content: 'Hm.', content: 'So:' });
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
