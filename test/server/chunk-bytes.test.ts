/** The bytes of streamed answers, which prepared text may not change. */
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { post } from './support/client.ts';
import { says, useServers } from './support/test-server.ts';
import { THINK } from '../support/chat-formats.ts';

const server = useServers();

const CHAT = '/v1/chat/completions';
const chat = { messages: [{ role: 'user', content: 'Hi' }], stream: true };
const HEAD =
  '{"id":"ID","object":"chat.completion.chunk","created":0,"model":"org/fake-model","choices":';
const TEXT_HEAD =
  '{"id":"ID","object":"text_completion","created":0,"model":"org/fake-model","choices":';

/** Without what differs from request to request. */
function anonymous(text: string): string {
  return text
    .replaceAll(/"(?:chatcmpl|cmpl)-[^"]+"/g, '"ID"')
    .replaceAll(/"msg_[^"]+"/g, '"ID"')
    .replaceAll(/"created":\d+/g, '"created":0');
}

async function events(path: string, body: object, text = 'a"\n'): Promise<string[]> {
  const target = await server({ script: says(text) });
  const response = await post(target, path, body);
  const whole = anonymous(await response.text());
  return whole.split('\n\n').filter((event) => !event.startsWith(':'));
}

const delta = (fields: string, rest = ']}') =>
  `data: ${HEAD}[{"index":0,"delta":{${fields}},"logprobs":null,"finish_reason":null}${rest}`;

test('a streamed chat', async () => {
  expect(await events(CHAT, chat)).toEqual([
    delta('"role":"assistant","content":""'),
    delta('"content":"a"'),
    delta('"content":"\\""'),
    delta('"content":"\\n"'),
    `data: ${HEAD}[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop","stop_reason":null}]}`,
    'data: [DONE]',
    '',
  ]);
});

test('a streamed chat with usage at its end', async () => {
  const told = await events(CHAT, { ...chat, stream_options: { include_usage: true } }, '');
  expect(told).toEqual([
    delta('"role":"assistant","content":""', '],"usage":null}'),
    `data: ${HEAD}[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop","stop_reason":null}],"usage":null}`,
    expect.stringMatching(
      /^data: .*"choices":\[\],"usage":\{"prompt_tokens":\d+,"completion_tokens":1,/,
    ),
    'data: [DONE]',
    '',
  ]);
});

test('a streamed chat with the ids of its tokens', async () => {
  const told = await events(CHAT, { ...chat, return_token_ids: true, max_tokens: 1 }, 'a');
  expect(told.slice(1, -2)).toEqual([
    `data: ${HEAD}[{"index":0,"delta":{"content":"a"},"logprobs":null,"finish_reason":null,"token_ids":[65]}]}`,
    `data: ${HEAD}[{"index":0,"delta":{},"logprobs":null,"finish_reason":"length","stop_reason":null,"token_ids":[]}]}`,
  ]);
});

test('a streamed completion', async () => {
  expect(await events('/v1/completions', { prompt: 'Hi', stream: true }, 'a"')).toEqual([
    `data: ${TEXT_HEAD}[{"index":0,"text":"a","logprobs":null,"finish_reason":null}]}`,
    `data: ${TEXT_HEAD}[{"index":0,"text":"\\"","logprobs":null,"finish_reason":null}]}`,
    `data: ${TEXT_HEAD}[{"index":0,"text":"","logprobs":null,"finish_reason":"stop","stop_reason":null}]}`,
    'data: [DONE]',
    '',
  ]);
});

test('a streamed thought', async () => {
  const target = await server({
    script: says('<think>a</think>b'),
    chatFormat: { toolCalls: null, reasoning: THINK },
  });
  const text = anonymous(await (await post(target, CHAT, chat)).text());
  const thought = delta('"reasoning_content":"a","reasoning":"a"');
  expect(text).toContain(`${thought}\n\n${delta('"content":"b"')}\n\n`);
});

test('a streamed message of the Messages API', async () => {
  const target = await server({ script: says('a"') });
  const body = { ...chat, model: 'org/fake-model', max_tokens: 5 };
  const text = await (await post(target, '/v1/messages', body)).text();
  expect(text).toContain(
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}\n\n' +
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\""}}\n\n',
  );
});

test('a chat streamed over a WebSocket', async () => {
  const { url } = await server({ script: says('a') });
  const socket = new WebSocket(`${url.replace('http', 'ws')}${CHAT}`);
  await once(socket, 'open');
  const frames: string[] = [];
  const done = new Promise<void>((resolve) => {
    socket.on('message', (data: Buffer) => {
      frames.push(anonymous(data.toString()));
      if (frames.length === 4) resolve();
    });
  });
  socket.send(JSON.stringify({ ...chat, request_id: 'r"' }));
  await done;
  socket.close();
  const tail = '],"request_id":"r\\""}';
  expect(frames.map((frame) => `data: ${frame}`)).toEqual([
    delta('"role":"assistant","content":""', tail),
    delta('"content":"a"', tail),
    `data: ${HEAD}[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop","stop_reason":null}${tail}`,
    'data: {"request_id":"r\\"","type":"done"}',
  ]);
});
