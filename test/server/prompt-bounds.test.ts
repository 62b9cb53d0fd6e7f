import { describe, expect, it } from 'vitest';
import { PlainChatEncoder } from '../../src/front/templates/chat-encoder.ts';
import { ChatTemplate } from '../../src/front/templates/chat-template.ts';
import { TaskTooCostlyError } from '../../src/front/prompts/fair-pool.ts';
import { PromptEncoder } from '../../src/front/prompts/prompt-encoder.ts';
import { parsePrompts } from '../../src/server/schemas/prompt.ts';
import { errorOf, post } from './support/client.ts';
import { useServers } from './support/test-server.ts';

const server = useServers();
const user = [{ role: 'user', content: 'Hi' }];
const many = <Item>(length: number, item: Item): Item[] => Array.from({ length }, () => item);
const text = (length: number): string => 'x'.repeat(length);

const CHAT = '/v1/chat/completions';
const COMPLETIONS = '/v1/completions';
const RESPONSES = '/v1/responses';

const OVER = [
  ['prompts', COMPLETIONS, { prompt: many(10_000, 'x') }, 'prompt', /at most 128/],
  ['lists of ids', COMPLETIONS, { prompt: many(10_000, [1]) }, 'prompt', /at most 128/],
  ['messages', CHAT, { messages: many(2049, user[0]) }, 'messages', /at most 2048/],
  ['items', RESPONSES, { input: many(2049, user[0]) }, 'input', /at most 2048/],
  ['tools', CHAT, { messages: user, tools: many(513, {}) }, 'tools', /at most 512/],
  [
    'variables',
    CHAT,
    { messages: user, chat_template_kwargs: { a: text(16_384) } },
    'chat_template_kwargs',
    /16384/,
  ],
  ['bad words', CHAT, { messages: user, bad_words: many(1025, 'x') }, 'bad_words', /1024/],
  ['of a bad word', CHAT, { messages: user, bad_words: [text(8193)] }, 'bad_words', /8192/],
  [
    'of bad words',
    COMPLETIONS,
    { prompt: 'x', bad_words: many(200, text(50)) },
    'bad_words',
    /8192/,
  ],
  ['of a stop string', CHAT, { messages: user, stop: text(1025) }, 'stop.0', /1024/],
  ['of a salt', CHAT, { messages: user, cache_salt: text(513) }, 'cache_salt', /512/],
  ['of a user', CHAT, { messages: user, user: text(513) }, 'user', /512/],
  ['of a model', CHAT, { messages: user, model: text(513) }, 'model', /512/],
  [
    'allowed ids',
    CHAT,
    { messages: user, allowed_token_ids: many(65_537, 1) },
    'allowed_token_ids',
    /65536/,
  ],
  ['ids to decode', '/detokenize', { tokens: many(131_073, 1) }, 'tokens', /131072/],
  ['tokens to list', '/tokenize', { prompt: text(131_073) }, 'prompt', /131072/],
  [
    'of a description',
    CHAT,
    {
      messages: user,
      tools: [{ type: 'function', function: { name: 'f', description: text(65_537) } }],
    },
    'tools.0.function.description',
    /65536/,
  ],
] as const;

it.each(OVER)('too many %s are refused', async (_, path, body, param, limit) => {
  const error = await errorOf(await post(await server(), path, body), 400);
  expect(error.param).toBe(param);
  expect(error.message).toMatch(limit);
});

it('counts prompts before it looks at them', () => {
  const untouchable = new Proxy<number[]>([], {
    get() {
      throw new Error('looked at');
    },
  });
  expect(() => parsePrompts(many(1000, untouchable), 128)).toThrow(/at most 128/);
});

/** Deep enough to end the stack of whatever follows it down. */
const DEEP = 20_000;
const deepObject = `${'{"a":'.repeat(DEEP)}1${'}'.repeat(DEEP)}`;
const deepList = `${'['.repeat(DEEP)}${']'.repeat(DEEP)}`;
const calls = (args: string) => [
  { role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: args } }] },
];

describe.each([deepObject, deepList])('deep nesting', (deep) => {
  const tool = `{"type":"function","function":{"name":"f","parameters":{"a":${deep}}}}`;
  it.each([
    [
      'variables',
      CHAT,
      `{"messages":[{"role":"user","content":"x"}],"chat_template_kwargs":{"a":${deep}}}`,
    ],
    ['tools', CHAT, `{"messages":[{"role":"user","content":"x"}],"tools":[${tool}]}`],
    ['messages', CHAT, `{"messages":[{"role":"user","content":"x","name":${deep}}]}`],
    ['arguments', CHAT, JSON.stringify({ messages: calls(`{"a":${deep}}`) })],
    [
      'a call',
      RESPONSES,
      JSON.stringify({
        input: [{ type: 'function_call', call_id: 'c', name: 'f', arguments: deep }],
      }),
    ],
    [
      'input',
      '/v1/messages',
      `{"max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"a":${deep}}}]}]}`,
    ],
    ['metadata', RESPONSES, `{"input":"x","metadata":{"a":${deep}}}`],
    ['ids', '/detokenize', `{"tokens":${deep}}`],
    ['all of it', '/tokenize', deep],
  ])('in %s is the fault of the request', async (_, path, body) => {
    const target = await server();
    expect((await post(target, path, body)).status).toBe(400);
    expect((await post(target, '/tokenize', { prompt: 'x' })).status).toBe(200);
  });
});

describe('a prompt that cannot fit by its characters', () => {
  /** Notes what is tokenized. */
  async function watched() {
    const target = await server();
    const seen: string[] = [];
    const tokenizer = {
      ...target.runtime.tokenizer,
      maxTokenCharacters: 4,
      encode: (value: string) => {
        seen.push(value);
        return Int32Array.of(1);
      },
    };
    const template = new ChatTemplate(new Map([['default', '{{ messages[0].content }}']]), {});
    const chat = {
      render: (...of: Parameters<PlainChatEncoder['render']>) => {
        const rendered = template.render(...of);
        return { text: rendered, encode: () => tokenizer.encode(rendered) };
      },
    };
    const prompts = new PromptEncoder({
      model: { tokenizer, chat } as never,
      admission: target.admission,
      pool: { run: () => Promise.reject(new TaskTooCostlyError('takes longer than 1 s')) },
    });
    Object.assign(target.runtime, { prompts });
    return { target, seen };
  }

  it('is refused unread', async () => {
    const { target, seen } = await watched();
    const long = text(4 * 256 + 1);
    const error = await errorOf(await post(target, COMPLETIONS, { prompt: ['x', long] }), 400);
    expect(error).toMatchObject({ param: 'prompt', code: 'context_length_exceeded' });
    expect(error.message).toMatch(/maximum context length is 256 tokens.* at least 257 tokens/);
    expect(seen).toEqual([]);
    // A prompt that takes its turn may be as long as it likes, and its cost is bounded otherwise.
    const costly = { prompt: long, truncate_prompt_tokens: 5 };
    const tooCostly = await errorOf(await post(target, COMPLETIONS, costly), 400);
    expect(tooCostly).toMatchObject({ code: 'too_costly' });
    expect(tooCostly.message).toMatch(/takes longer than 1 s/);
  });
});

it('tokenizes bad words once for all choices', async () => {
  const target = await server();
  let numCalls = 0;
  const { prompts } = target.runtime;
  Object.assign(target.runtime, {
    prompts: {
      canChat: true,
      encodeChat: prompts.encodeChat.bind(prompts),
      encodeBadWords: (...of: Parameters<typeof prompts.encodeBadWords>) => {
        numCalls++;
        return prompts.encodeBadWords(...of);
      },
    },
  });
  const body = { messages: user, n: 4, bad_words: ['no'], max_tokens: 2 };
  expect((await post(target, CHAT, body)).status).toBe(200);
  expect(numCalls).toBe(1);
  expect(target.engine.requests.length).toBeGreaterThan(1);
  for (const { badWords } of target.engine.requests) expect(badWords).toHaveLength(1);
});
