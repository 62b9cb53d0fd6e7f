import { OpenAI } from 'openai';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { errorOf, post } from '../support/client.ts';
import { babbles, MODEL, says, useServers, type TestServer } from '../support/test-server.ts';
import { namedEventsOf } from '../support/named-events.ts';

const server = useServers();
const PATH = '/v1/responses';

function clientOf({ url }: TestServer): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: 'key', maxRetries: 0 });
}

const responseObject = z.looseObject({ id: z.string(), status: z.string() });

async function create(target: TestServer, body: object) {
  const response = await post(target, PATH, body);
  expect(response.status).toBe(200);
  return responseObject.parse(await response.json());
}

/** Prompts of the model, as the test tokenizer and template put them. */
function promptsOf({ engine, runtime }: TestServer): string[] {
  return engine.requests.map(({ promptTokenIds }) =>
    runtime.tokenizer.decode(promptTokenIds, { skipSpecialTokens: false }),
  );
}

describe('create', () => {
  test('answers in one piece', async () => {
    const response = await clientOf(await server()).responses.create({ model: MODEL, input: 'Hi' });
    expect(response).toMatchObject({
      object: 'response',
      status: 'completed',
      model: MODEL,
      error: null,
      incomplete_details: null,
      output_text: 'Hello there!',
      output: [
        {
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Hello there!', annotations: [] }],
        },
      ],
      usage: { output_tokens: 13, input_tokens_details: { cached_tokens: 0 } },
    });
    const { input_tokens: input = 0, total_tokens: total } = response.usage ?? {};
    expect(total).toBe(input + 13);
  });

  test('streams the events in order, with their numbers', async () => {
    const target = await server({ script: says('Hi!') });
    const events = await namedEventsOf(await post(target, PATH, { input: 'Hi', stream: true }));
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(events.map((event) => event['sequence_number'])).toEqual(events.map((_, i) => i));
    expect(events[0]).toMatchObject({ response: { status: 'in_progress', output: [] } });
    expect(events[7]).toMatchObject({ text: 'Hi!', output_index: 0, content_index: 0 });
    const item = { content: [{ text: 'Hi!' }], status: 'completed' };
    expect(events[9]).toMatchObject({ item });
    expect(events[10]).toMatchObject({ response: { status: 'completed', output: [item] } });
  });

  test('streams through the helper of the official client', async () => {
    const stream = clientOf(await server()).responses.stream({ model: MODEL, input: 'Hi' });
    let text = '';
    stream.on('response.output_text.delta', (event) => (text += event.delta));
    const response = await stream.finalResponse();
    expect(text).toBe('Hello there!');
    expect(response.output_text).toBe('Hello there!');
  });

  test('is incomplete when cut short by max_output_tokens', async () => {
    const target = await server({ script: babbles });
    const body = { input: 'Hi', max_output_tokens: 3 };
    expect(await create(target, body)).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ status: 'incomplete', content: [{ text: 'xxx' }] }],
    });
    const events = await namedEventsOf(await post(target, PATH, { ...body, stream: true }));
    expect(events.at(-1)).toMatchObject({ type: 'response.incomplete' });
  });

  test('an answer without any text is an empty message', async () => {
    const target = await server({ script: says('') });
    const events = await namedEventsOf(await post(target, PATH, { input: 'Hi', stream: true }));
    expect(events.at(-1)).toMatchObject({
      type: 'response.completed',
      response: { output: [{ type: 'message', content: [{ text: '' }] }] },
    });
    expect(events.map(({ type }) => type)).toContain('response.output_text.done');
  });

  test('a failure in mid-stream is the last event', async () => {
    const target = await server({
      *script() {
        yield 5;
        throw new Error('engine trouble');
      },
    });
    const events = await namedEventsOf(await post(target, PATH, { input: 'Hi', stream: true }));
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'server_error' } },
    });
    expect(JSON.stringify(events)).not.toContain('engine trouble');
    await errorOf(await post(target, PATH, { input: 'Hi' }), 500);
  });

  test('a client that goes away frees the row', async () => {
    const target = await server({ script: babbles, engine: { heldAfter: 1 } });
    const stream = await clientOf(target).responses.create({
      model: MODEL,
      input: 'Hi',
      stream: true,
    });
    let id = '';
    for await (const event of stream) {
      if (event.type === 'response.created') ({ id } = event.response);
      if (event.type === 'response.output_text.delta') break;
    }
    await vi.waitFor(() => expect(target.engine).toMatchObject({ running: 0, aborted: 1 }));
    const kept = target.context.responses.of('').get(id);
    expect(kept?.response).toMatchObject({ status: 'cancelled' });
  });

  test('counts cached and written tokens as today’s clients expect', async () => {
    const { usage } = await clientOf(await server()).responses.create({
      model: MODEL,
      input: 'Hi',
    });
    expect(usage?.input_tokens_details).toEqual({ cached_tokens: 0, cache_write_tokens: 0 });
  });

  test('gives the fields of the request back', async () => {
    const asked = {
      input: 'Hi',
      instructions: 'Be brief.',
      temperature: 0.5,
      top_p: 0.9,
      metadata: { trip: 'one' },
      user: 'someone',
      reasoning: { effort: 'low', summary: null },
      text: { format: { type: 'text' } },
      store: false,
      truncation: 'auto',
      parallel_tool_calls: false,
      max_tool_calls: 3,
    };
    const { input: _, ...echoed } = asked;
    const target = await server();
    expect(await create(target, asked)).toMatchObject(echoed);
    expect(target.engine.requests[0]?.sampling).toMatchObject({ temperature: 0.5, topP: 0.9 });
  });
});

describe('input', () => {
  test('items become messages: system first, calls and text of one turn together', async () => {
    const target = await server();
    await create(target, {
      instructions: 'A.',
      input: [
        { role: 'developer', content: 'B.' },
        { role: 'user', content: [{ type: 'input_text', text: 'C?' }] },
        { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'D.' }] },
        { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: 'E' },
      ],
    });
    expect(promptsOf(target)).toEqual([
      'system: A.\n\nB.\nuser: C?\nassistant: D.\n<tool_call>\n{"name": "look", "arguments": {}}\n</tool_call>\nuser: <tool_response>\nE\n</tool_response>\nassistant: ',
    ]);
  });

  test('function tools reach the template in their chat form', async () => {
    const target = await server();
    const tools = [{ type: 'function', name: 'look', parameters: { type: 'object' } }];
    expect(await create(target, { input: 'Hi', tools })).toMatchObject({ tools });
    expect(promptsOf(target)[0]).toContain('"function": {"name": "look"');
  });

  test.each([
    [{}, 'input', 'missing_required_parameter'],
    [{ input: 5 }, 'input', 'invalid_value'],
    [{ input: [] }, 'input', 'invalid_value'],
    [{ input: [{ role: 'robot', content: 'Hi' }] }, 'input.0.role', 'invalid_value'],
    [{ input: [{ type: 'odd' }] }, 'input.0.type', 'invalid_value'],
    [
      { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] },
      'input',
      'model_not_supported',
    ],
    [
      { input: [{ type: 'function_call_output', call_id: 'c9', output: 'x' }] },
      'input',
      'invalid_value',
    ],
    [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input.0.id', 'item_not_found'],
    [{ input: 'Hi', tools: [{ type: 'function' }] }, 'tools.0.name', 'missing_required_parameter'],
    [{ input: 'Hi', tools: [{ name: 'look' }] }, 'tools.0.type', 'missing_required_parameter'],
    [{ input: 'Hi', tool_choice: 'maybe' }, 'tool_choice', 'invalid_value'],
    [{ input: 'Hi', text: { format: { type: 'xml' } } }, 'text.format.type', 'invalid_value'],
    [{ input: 'Hi', metadata: { a: 1 } }, 'metadata.a', 'invalid_value'],
    [{ input: 'Hi', max_output_tokens: 0 }, 'max_output_tokens', 'invalid_value'],
    [{ input: 'Hi', max_output_tokens: 999_999 }, 'max_output_tokens', 'context_length_exceeded'],
    [{ input: 'x'.repeat(999) }, 'input', 'context_length_exceeded'],
    [
      { input: 'Hi', previous_response_id: 'resp_0' },
      'previous_response_id',
      'previous_response_not_found',
    ],
    [{ input: 'Hi', background: true, store: false }, 'background', 'invalid_value'],
  ])('refuses %j', async (body, param, code) => {
    const response = await post(await server(), PATH, body);
    expect(await errorOf(response, 400)).toMatchObject({ param, code });
  });
});

describe('input tokens', () => {
  test('are counted without an answer, with what the conversation has', async () => {
    const target = await server();
    const client = clientOf(target);
    const first = await client.responses.create({ model: MODEL, input: 'Hi' });
    const asked = { model: MODEL, input: 'And?', previous_response_id: first.id };
    const { object, input_tokens: count } = await client.responses.inputTokens.count(asked);
    expect(object).toBe('response.input_tokens');
    expect(target.engine.requests).toHaveLength(1);
    const { usage } = await client.responses.create(asked);
    expect(count).toBe(usage?.input_tokens);
  });
});

test('how long a prefix is to be kept is told again', async () => {
  const target = await server();
  const { prompt_cache_retention: told } = await create(target, {
    input: 'Hi',
    prompt_cache_retention: '24h',
  });
  expect(told).toBe('24h');
  const wrong = await post(target, PATH, { input: 'Hi', prompt_cache_retention: '7d' });
  expect((await errorOf(wrong, 400)).param).toBe('prompt_cache_retention');
});

describe('a conversation', () => {
  test('goes on from a response, without its instructions', async () => {
    const target = await server({ script: says('Yes.') });
    const first = await create(target, { input: 'One?', instructions: 'Be brief.' });
    const second = await create(target, { input: 'Two?', previous_response_id: first.id });
    await create(target, { input: 'Three?', previous_response_id: second.id });
    expect(promptsOf(target).at(-1)).toBe(
      'user: One?\nassistant: Yes.\nuser: Two?\nassistant: Yes.\nuser: Three?\nassistant: ',
    );
  });

  test('outlives the deletion of its responses', async () => {
    const target = await server({ script: says('Yes.') });
    const first = await create(target, { input: 'One?' });
    const second = await create(target, { input: 'Two?', previous_response_id: first.id });
    await clientOf(target).responses.delete(first.id);
    await create(target, { input: 'Three?', previous_response_id: second.id });
    expect(promptsOf(target).at(-1)).toContain('user: One?');
  });

  test('may refer to an item by its id', async () => {
    const target = await server({ script: says('Yes.') });
    const first = await clientOf(target).responses.create({ model: MODEL, input: 'One?' });
    const id = first.output[0]?.id;
    await create(target, {
      input: [
        { type: 'item_reference', id },
        { role: 'user', content: 'Two?' },
      ],
    });
    expect(promptsOf(target).at(-1)).toBe('assistant: Yes.\nuser: Two?\nassistant: ');
  });

  test('cannot be made to hold one item many times', async () => {
    const target = await server();
    await create(target, { input: [{ id: 'msg_1', role: 'user', content: 'One?' }] });
    const reference = { type: 'item_reference', id: 'msg_1' };
    const twice = await post(target, PATH, { input: [reference, reference] });
    expect((await errorOf(twice, 400)).message).toContain('twice');
  });

  test('finds an item in its own conversation before one of the same id elsewhere', async () => {
    const target = await server({ script: says('Yes.') });
    const input = (content: string) => [{ id: 'msg_1', role: 'user', content }];
    const first = await create(target, { input: input('One?') });
    await create(target, { input: input('Two?') });
    await create(target, {
      input: [{ type: 'item_reference', id: 'msg_1' }],
      previous_response_id: first.id,
    });
    expect(promptsOf(target).at(-1)).toBe('user: One?\nassistant: Yes.\nuser: One?\nassistant: ');
  });

  test('that was not stored cannot be gone on with', async () => {
    const target = await server();
    const { id } = await create(target, { input: 'Hi', store: false });
    const response = await post(target, PATH, { input: 'Hi', previous_response_id: id });
    expect(await errorOf(response, 400)).toMatchObject({ code: 'previous_response_not_found' });
  });

  test('that is too long loses its oldest items with truncation auto', async () => {
    const target = await server({ script: says('Yes.') });
    const input = Array.from({ length: 60 }, (_, index) => ({
      role: 'user',
      content: `Number ${index}`,
    }));
    await errorOf(await post(target, PATH, { input }), 400);
    await create(target, { input, truncation: 'auto' });
    const [prompt = ''] = promptsOf(target);
    expect(prompt).toContain('user: Number 59\nassistant: ');
    expect(prompt).not.toContain('Number 30');
    expect(prompt.length).toBeGreaterThan(200);
  });
});

describe('kept responses', () => {
  test('can be read, listed with their input, and deleted', async () => {
    const target = await server();
    const { responses } = clientOf(target);
    const input = ['One', 'Two', 'Three'].map((content) => ({ role: 'user' as const, content }));
    const made = await responses.create({ model: MODEL, input });
    const { _request_id: _, ...got } = await responses.retrieve(made.id);
    expect(made).toMatchObject(got);
    const listed: string[] = [];
    for await (const item of responses.inputItems.list(made.id, { limit: 2, order: 'asc' })) {
      listed.push(JSON.stringify(item));
    }
    expect(listed).toHaveLength(3);
    expect(listed[2]).toContain('Three');
    await responses.delete(made.id);
    await expect(responses.retrieve(made.id)).rejects.toMatchObject({ status: 404 });
    await expect(responses.delete(made.id)).rejects.toMatchObject({ status: 404 });
  });

  test('in the background can be polled', async () => {
    const target = await server({ engine: { heldAfter: 1 } });
    const { responses } = clientOf(target);
    const made = await responses.create({ model: MODEL, input: 'Hi', background: true });
    expect(made.status).toBe('in_progress');
    expect((await responses.retrieve(made.id)).status).toBe('in_progress');
    target.engine.release();
    await vi.waitFor(async () => {
      expect(await responses.retrieve(made.id)).toMatchObject({
        status: 'completed',
        output_text: 'Hello there!',
      });
    });
  });

  test('in the background are cancelled, and stay so', async () => {
    const target = await server({ script: babbles, engine: { heldAfter: 1 } });
    const { responses } = clientOf(target);
    const made = await responses.create({ model: MODEL, input: 'Hi', background: true });
    await vi.waitFor(() => expect(target.engine.running).toBe(1));
    expect((await responses.cancel(made.id)).status).toBe('cancelled');
    await vi.waitFor(() => expect(target.engine).toMatchObject({ running: 0, aborted: 1 }));
    await vi.waitFor(async () => {
      expect((await responses.retrieve(made.id)).status).toBe('cancelled');
    });
  });

  test('that are deleted while at work end, and do not come back', async () => {
    const target = await server({ script: babbles, engine: { heldAfter: 1 } });
    const { responses } = clientOf(target);
    const made = await responses.create({ model: MODEL, input: 'Hi', background: true });
    await vi.waitFor(() => expect(target.engine.running).toBe(1));
    await responses.delete(made.id);
    await vi.waitFor(() => expect(target.engine.running).toBe(0));
    expect(target.context.responses.size).toBe(0);
  });

  test('not in the background cannot be cancelled', async () => {
    const target = await server();
    const { id } = await create(target, { input: 'Hi' });
    const refused = await errorOf(await post(target, `${PATH}/${id}/cancel`, {}), 400);
    expect(refused.message).toContain('background');
  });

  test.each(['', '/input_items'])('that are not there are 404: %s', async (suffix) => {
    const { url } = await server();
    const missing = await errorOf(await fetch(`${url}${PATH}/resp_0${suffix}`), 404);
    expect(missing.code).toBe('response_not_found');
  });

  test('can be turned off', async () => {
    const target = await server({ responseStoreBytes: 0 });
    const made = await create(target, { input: 'Hi' });
    expect(made['store']).toBe(false);
    await errorOf(await fetch(`${target.url}${PATH}/${made.id}`), 404);
  });
});
