/** The official client, `openai` 6. */
import { OpenAI } from 'openai';
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import {
  MODEL,
  numRunning,
  PERSON_QUESTION,
  SUM_QUESTION,
  useLiveServer,
  WEATHER,
  WEATHER_QUESTION,
} from './support/live-server.ts';

const url = useLiveServer();

const person = z.object({ name: z.string(), age: z.int() });
const chatTools = [{ type: 'function' as const, function: WEATHER }];
const responseTools = [{ type: 'function' as const, strict: true, ...WEATHER }];

function client(): OpenAI {
  return new OpenAI({ baseURL: `${url()}/v1`, apiKey: 'none', maxRetries: 0 });
}

function ask(content: string) {
  return { model: MODEL, temperature: 0, messages: [{ role: 'user' as const, content }] };
}

describe('chat', () => {
  test('gives the same text in one piece and streamed', async () => {
    const whole = await client().chat.completions.create(ask(SUM_QUESTION));
    expect(whole.choices[0]?.message.content).toContain('68');
    const stream = client().chat.completions.stream(ask(SUM_QUESTION));
    let text = '';
    stream.on('content', (delta) => (text += delta));
    const final = await stream.finalChatCompletion();
    expect(text).toBe(whole.choices[0]?.message.content);
    expect(final.choices[0]?.finish_reason).toBe('stop');
  });

  test('calls a tool, takes its result, and goes on', async () => {
    const body = { ...ask(WEATHER_QUESTION), tools: chatTools, tool_choice: 'required' as const };
    const called = await client().chat.completions.create(body);
    const message = called.choices[0]?.message;
    expect(called.choices[0]?.finish_reason).toBe('tool_calls');
    const call = message?.tool_calls?.[0];
    if (call?.type !== 'function' || message === undefined) throw new Error('no function call');
    expect(call.function.name).toBe('get_weather');
    expect(z.object({ city: z.string() }).parse(JSON.parse(call.function.arguments)).city).toBe(
      'Paris',
    );
    const result = { role: 'tool' as const, tool_call_id: call.id, content: '{"sky": "clear"}' };
    const messages = [...body.messages, message, result];
    const answer = await client().chat.completions.create({
      ...ask(''),
      tools: chatTools,
      messages,
    });
    expect(answer.choices[0]?.message.content).toBeTypeOf('string');
  });

  test('calls a tool in a stream', async () => {
    const stream = client().chat.completions.stream({
      ...ask(WEATHER_QUESTION),
      tools: chatTools,
      tool_choice: 'required',
    });
    let text = '';
    stream.on('tool_calls.function.arguments.delta', (event) => (text += event.arguments_delta));
    const final = await stream.finalChatCompletion();
    const call = final.choices[0]?.message.tool_calls?.[0];
    expect(call?.type === 'function' ? call.function : null).toMatchObject({
      name: 'get_weather',
      arguments: text,
    });
    expect(JSON.parse(text)).toHaveProperty('city');
  });

  test('parses a schema', async () => {
    const answer = await client().chat.completions.parse({
      ...ask(PERSON_QUESTION),
      response_format: zodResponseFormat(person, 'person'),
    });
    expect(answer.choices[0]?.message.parsed).toMatchObject({ name: expect.any(String) });
  });

  test('aborts', async () => {
    const abort = new AbortController();
    const stream = await client().chat.completions.create(
      { ...ask('Tell me a story about a fox.'), max_completion_tokens: 1500, stream: true },
      { signal: abort.signal },
    );
    let numChunks = 0;
    for await (const _ of stream) if (++numChunks === 3) abort.abort();
    // Stops far from 1500; what had come with the third is still told.
    expect(numChunks).toBeLessThan(1000);
    await vi.waitFor(async () => expect(await numRunning(url())).toBe(0));
  });
});

test('streams completions', async () => {
  const body = { model: MODEL, prompt: 'Once upon a time', max_tokens: 20, temperature: 0 };
  const whole = await client().completions.create(body);
  let text = '';
  for await (const chunk of await client().completions.create({ ...body, stream: true })) {
    text += chunk.choices[0]?.text ?? '';
  }
  expect(text).toBe(whole.choices[0]?.text);
});

describe('responses', () => {
  test('takes a bound on calls of tools that a server runs itself, of which there are none', async () => {
    const fields = { model: MODEL, input: SUM_QUESTION, temperature: 0, max_tool_calls: 2 };
    const response = await client().responses.create(fields);
    expect(response.output_text).toContain('68');
    // Its type has the field in requests alone.
    expect(response).toMatchObject({ max_tool_calls: 2 });
  });

  test('leaves out tools that only a hosted service runs', async () => {
    const tools = [{ type: 'web_search' as const }];
    const fields = { model: MODEL, input: SUM_QUESTION, temperature: 0, tools };
    const response = await client().responses.create(fields);
    expect(response.output_text).toContain('68');
    expect(response).toHaveProperty('warnings.0', expect.stringContaining('web_search'));
  });

  test('stream through the helper, and can be gone on with', async () => {
    const stream = client().responses.stream({ model: MODEL, temperature: 0, input: SUM_QUESTION });
    let text = '';
    stream.on('response.output_text.delta', (event) => (text += event.delta));
    const first = await stream.finalResponse();
    expect(text).toContain('68');
    expect(first.output_text).toBe(text);
    const second = await client().responses.create({
      model: MODEL,
      input: 'What is 12 + 30?',
      previous_response_id: first.id,
    });
    expect(second.usage?.input_tokens).toBeGreaterThan(first.usage?.input_tokens ?? 0);
  });

  test('calls a tool, and takes its output', async () => {
    const stream = client().responses.stream({
      model: MODEL,
      temperature: 0,
      input: WEATHER_QUESTION,
      tools: responseTools,
      tool_choice: 'required',
    });
    let text = '';
    stream.on('response.function_call_arguments.delta', (event) => (text += event.delta));
    const first = await stream.finalResponse();
    const call = first.output.find((item) => item.type === 'function_call');
    expect(call).toMatchObject({ name: 'get_weather', arguments: text });
    expect(JSON.parse(text)).toHaveProperty('city');
    const second = await client().responses.create({
      model: MODEL,
      tools: responseTools,
      input: [
        { type: 'function_call_output', call_id: call?.call_id ?? '', output: '{"sky": "clear"}' },
      ],
      previous_response_id: first.id,
    });
    expect(second.status).toBe('completed');
  });

  test('parses a schema', async () => {
    const answer = await client().responses.parse({
      model: MODEL,
      input: PERSON_QUESTION,
      text: { format: zodTextFormat(person, 'person') },
    });
    expect(answer.output_parsed).toMatchObject({ name: expect.any(String) });
  });

  test('aborts', async () => {
    const abort = new AbortController();
    const stream = await client().responses.create(
      { model: MODEL, input: 'Tell me a story about a fox.', stream: true },
      { signal: abort.signal },
    );
    for await (const event of stream) {
      if (event.type === 'response.output_text.delta') abort.abort();
    }
    await vi.waitFor(async () => expect(await numRunning(url())).toBe(0));
    expect(abort.signal.aborted).toBe(true);
  });

  test('come over its WebSocket client, one after the other', async () => {
    const socket = new ResponsesWS(client());
    const ids: string[] = [];
    let text = '';
    socket.on('response.output_text.delta', (event) => (text += event.delta));
    const completed = new Promise<void>((resolve, reject) => {
      socket.on('error', reject);
      socket.on('response.completed', ({ response }) => {
        ids.push(response.id);
        if (ids.length === 2) resolve();
        else {
          const previous = { previous_response_id: response.id, store: false };
          socket.send({ type: 'response.create', input: 'What is 12 + 30?', ...previous });
        }
      });
    });
    const first = { temperature: 0, store: false };
    socket.send({ type: 'response.create', model: MODEL, input: SUM_QUESTION, ...first });
    await completed;
    socket.close();
    expect(text).toContain('68');
    expect(new Set(ids).size).toBe(2);
  });
});

test('lists the models', async () => {
  const ids: string[] = [];
  for await (const model of client().models.list()) ids.push(model.id);
  expect(ids).toContain(MODEL);
});
