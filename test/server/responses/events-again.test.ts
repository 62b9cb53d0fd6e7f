/** Events of background responses, read again. */
import { OpenAI } from 'openai';
import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../../src/limits.ts';
import { until } from '../../support/processes.ts';
import { errorOf, post } from '../support/client.ts';
import { namedEventsOf } from '../support/named-events.ts';
import { babbles, MODEL, says, useServers, type TestServer } from '../support/test-server.ts';

const server = useServers();
const PATH = '/v1/responses';
const body = { model: MODEL, input: 'Hi', background: true, stream: true } as const;

function responsesOf({ url }: TestServer) {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: 'key', maxRetries: 0 }).responses;
}

const readAgain = ({ url }: TestServer, id: string, query = ''): Promise<Response> =>
  fetch(`${url}${PATH}/${id}?stream=true${query}`);

/** A response of which its client has read the first `numRead` events, and left. */
async function begin(target: TestServer, numRead = 1): Promise<string> {
  const stream = await responsesOf(target).create(body);
  let id = '';
  let count = 0;
  for await (const event of stream) {
    expect(event.sequence_number).toBe(count);
    if (event.type === 'response.created') ({ id } = event.response);
    if (++count === numRead) break;
  }
  return id;
}

describe('events of a background response', () => {
  test('stream while it is made, and again after any of them though its client has left', async () => {
    const target = await server({ engine: { heldAfter: 3 } });
    const id = await begin(target, 6);
    const reading = readAgain(target, id, '&starting_after=5').then(namedEventsOf);
    target.engine.release();
    const rest = await reading;
    const whole = await namedEventsOf(await readAgain(target, id));
    expect(whole.map((event) => event['sequence_number'])).toEqual([...whole.keys()]);
    expect(rest).toEqual(whole.slice(6));
    expect(whole[0]).toMatchObject({ type: 'response.created', response: { background: true } });
    expect(whole.at(-1)).toMatchObject({
      type: 'response.completed',
      response: { output: [{ content: [{ text: 'Hello there!' }] }] },
    });
    const { _request_id: _, output_text: __, ...kept } = await responsesOf(target).retrieve(id);
    expect(whole.at(-1)?.['response']).toEqual(kept);
  });

  test('are put together again by the helper of the official client', async () => {
    const target = await server();
    const id = await begin(target, 7);
    const stream = responsesOf(target).stream({ response_id: id, starting_after: 6 });
    const numbers: number[] = [];
    stream.on('event', ({ sequence_number: number }) => numbers.push(number));
    expect((await stream.finalResponse()).output_text).toBe('Hello there!');
    expect(numbers[0]).toBe(7);
  });

  test('after the last one are none', async () => {
    const target = await server({ script: says('Hi!') });
    const id = await begin(target, Infinity);
    expect(await namedEventsOf(await readAgain(target, id, '&starting_after=10'))).toEqual([]);
    const far = await readAgain(target, id, `&starting_after=${'9'.repeat(15)}`);
    expect(await namedEventsOf(far)).toEqual([]);
  });

  test.each(['-1', '', '1.5', '1e3', ' 2', '0x1', '9'.repeat(16), 'NaN'])(
    'are not read from number %j on',
    async (after) => {
      const target = await server();
      const id = await begin(target);
      const refused = await readAgain(target, id, `&starting_after=${encodeURIComponent(after)}`);
      expect((await errorOf(refused, 400)).param).toBe('starting_after');
    },
  );

  test('are there only if it was created as a stream', async () => {
    const target = await server();
    const { id } = await responsesOf(target).create({ ...body, stream: false });
    expect((await errorOf(await readAgain(target, id), 400)).param).toBe('stream');
  });

  test('end with its being cancelled', async () => {
    const target = await server({ script: babbles, engine: { heldAfter: 1 } });
    const id = await begin(target);
    const reading = readAgain(target, id).then(namedEventsOf);
    await until(() => target.engine.running === 1, 'a running request');
    await responsesOf(target).cancel(id);
    expect((await reading).at(-1)).toMatchObject({
      type: 'response.cancelled',
      response: { status: 'cancelled' },
    });
  });

  test('end with its failure, also past the deadline', async () => {
    const target = await server({
      script: babbles,
      engine: { heldAfter: 1 },
      config: { requestTimeoutMs: 100 },
    });
    const first = await namedEventsOf(await post(target, PATH, body));
    expect(first.at(-1)).toMatchObject({
      type: 'response.failed',
      response: { status: 'failed', error: { code: 'server_error' } },
    });
  });

  test('end with an error where it is deleted meanwhile', async () => {
    const target = await server({ script: babbles, engine: { heldAfter: 1 } });
    const id = await begin(target);
    const response = await readAgain(target, id);
    const reading = namedEventsOf(response);
    await responsesOf(target).delete(id);
    expect((await reading).at(-1)).toMatchObject({ type: 'error', code: 'response_not_found' });
    expect(target.context.responses).toMatchObject({ size: 0, numBytes: 0 });
  });

  test('end with an error where they take more than the store may hold', async () => {
    const target = await server({ script: babbles, responseStoreBytes: 10_000 });
    const events = await namedEventsOf(await post(target, PATH, body));
    expect(events.at(-1)).toMatchObject({ type: 'error', code: 'response_not_found' });
    await until(() => target.engine.running === 0, 'the end of the generation');
    expect(target.context.responses).toMatchObject({ size: 0, numBytes: 0 });
  });

  test('are read by so many at once, who make room when they leave', async () => {
    const target = await server({ script: babbles, engine: { heldAfter: 1 } });
    const id = await begin(target);
    const left = new AbortController();
    const read = (signal: AbortSignal | null = null) =>
      fetch(`${target.url}${PATH}/${id}?stream=true`, { signal });
    for (let reader = 0; reader < LIMITS.clientEventReaders; reader++) {
      expect((await read(left.signal)).status).toBe(200);
    }
    expect(await errorOf(await read(), 429)).toMatchObject({ code: 'too_many_listeners' });
    left.abort();
    await until(async () => {
      const response = await read();
      await response.body?.cancel();
      return response.ok;
    }, 'room for a reader');
  });

  test('belong to the server where it was begun', async () => {
    const target = await server({ resumeKey: 'k'.repeat(32) });
    const began = await post(target, PATH, body);
    expect(began.headers.get('x-resume-token')).toBeNull();
    const events = await namedEventsOf(began);
    expect(events.map((event) => event['sequence_number'])).toEqual([...events.keys()]);
    const other = await post(target, PATH, { ...body, background: false });
    const token = other.headers.get('x-resume-token');
    await other.body?.cancel();
    const resumed = await post(target, PATH, { ...body, resume: { token, counts: [], events: 0 } });
    expect((await errorOf(resumed, 400)).param).toBe('resume');
  });
});
