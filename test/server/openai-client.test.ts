import { AuthenticationError, NotFoundError, OpenAI } from 'openai';
import { expect, test, vi } from 'vitest';
import { babbles, MODEL, useServers, type TestServer } from './support/test-server.ts';

const server = useServers();
const messages = [{ role: 'user' as const, content: 'Hi' }];

function clientOf({ url }: TestServer, apiKey = 'key'): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
}

function chat(client: OpenAI, fields: object) {
  return client.chat.completions.create({ model: MODEL, messages, ...fields });
}

test('answers a chat in one piece', async () => {
  const answer = await clientOf(await server()).chat.completions.create({ model: MODEL, messages });
  expect(answer.choices[0]?.message).toEqual({
    role: 'assistant',
    content: 'Hello there!',
    refusal: null,
  });
  expect(answer.usage?.completion_tokens).toBe(13);
});

test('streams a chat through the helper, with usage', async () => {
  const stream = clientOf(await server()).chat.completions.stream({
    model: MODEL,
    messages,
    stream_options: { include_usage: true },
  });
  let text = '';
  stream.on('content', (delta) => (text += delta));
  const answer = await stream.finalChatCompletion();
  expect(text).toBe('Hello there!');
  expect(answer.choices[0]).toMatchObject({
    finish_reason: 'stop',
    message: { role: 'assistant', content: 'Hello there!' },
  });
  expect(answer.usage?.completion_tokens).toBe(13);
});

test('streams completions', async () => {
  const stream = await clientOf(await server()).completions.create({
    model: MODEL,
    prompt: 'Hi',
    stream: true,
  });
  let text = '';
  let finishReason: string | null = null;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.text ?? '';
    finishReason = chunk.choices[0]?.finish_reason ?? finishReason;
  }
  expect({ text, finishReason }).toEqual({ text: 'Hello there!', finishReason: 'stop' });
});

test('breaking off a stream frees the row', async () => {
  const target = await server({ script: babbles, engine: { heldAfter: 1 } });
  const stream = await clientOf(target).chat.completions.create({
    model: MODEL,
    messages,
    stream: true,
  });
  for await (const chunk of stream) if (chunk.choices[0]?.delta.content === 'x') break;
  await vi.waitFor(() => expect(target.engine).toMatchObject({ running: 0, aborted: 1 }));
});

test('lists the models, and gets one by its name', async () => {
  const client = clientOf(await server());
  const ids: string[] = [];
  for await (const model of client.models.list()) ids.push(model.id);
  expect(ids).toEqual([MODEL]);
  expect((await client.models.retrieve(MODEL)).id).toBe(MODEL);
});

test('errors come as the client’s own classes', async () => {
  const target = await server({ config: { apiKeys: ['key'] } });
  await expect(chat(clientOf(target, 'wrong'), {})).rejects.toThrow(AuthenticationError);
  await expect(chat(clientOf(target), { model: 'other' })).rejects.toThrow(NotFoundError);
  await expect(chat(clientOf(target), { temperature: 9 })).rejects.toMatchObject({
    status: 400,
    param: 'temperature',
    type: 'invalid_request_error',
  });
});

test('a failure in mid-stream throws in the client', async () => {
  const target = await server({
    *script() {
      yield 5;
      throw new Error('engine trouble');
    },
  });
  const stream = await clientOf(target).completions.create({
    model: MODEL,
    prompt: 'Hi',
    stream: true,
  });
  const drain = async () => {
    for await (const _ of stream);
  };
  await expect(drain()).rejects.toThrow('could not finish');
});
