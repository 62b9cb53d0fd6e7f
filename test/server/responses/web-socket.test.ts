import { once } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { babbles, says, useServers, type TestServer } from '../support/test-server.ts';

const server = useServers();

const event = z.looseObject({
  type: z.string(),
  sequence_number: z.int().optional(),
  response: z.looseObject({ id: z.string() }).optional(),
});

const LAST = /^(response\.(completed|incomplete|failed)|error)$/;

type Event = z.infer<typeof event>;

/** A client that sends an event and reads what comes up to the last event of an answer. */
class Client {
  readonly socket: WebSocket;
  readonly events: Event[] = [];
  readonly closed: Promise<unknown[]>;

  constructor(url: string) {
    this.socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`);
    this.closed = once(this.socket, 'close');
    this.socket.on('message', (data: Buffer) => {
      this.events.push(event.parse(JSON.parse(data.toString('utf8'))));
    });
  }

  async send(body: object | string): Promise<void> {
    if (this.socket.readyState === WebSocket.CONNECTING) await once(this.socket, 'open');
    this.socket.send(typeof body === 'string' ? body : JSON.stringify(body));
  }

  /** The events so far, once `count` answers have ended. */
  async answers(count = 1): Promise<Event[]> {
    while (this.events.filter(({ type }) => LAST.test(type)).length < count) {
      await once(this.socket, 'message');
    }
    return this.events;
  }
}

const create = (fields: object) => ({ type: 'response.create', ...fields });

function promptOf({ engine, runtime }: TestServer): string {
  const promptTokenIds = engine.requests.at(-1)?.promptTokenIds ?? [];
  return runtime.tokenizer.decode(promptTokenIds, { skipSpecialTokens: false });
}

describe('/v1/responses over WebSocket', () => {
  test('sends the events of a stream', async () => {
    const { url } = await server({ script: says('Hi') });
    const client = new Client(url);
    await client.send(create({ input: 'Hi' }));
    const events = await client.answers();
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, i) => i));
  });

  test('goes on from the last response though it was not stored', async () => {
    const target = await server({ script: says('Yes.') });
    const client = new Client(target.url);
    await client.send(create({ input: 'One?', store: false }));
    const id = (await client.answers())[0]?.response?.id;
    await client.send(create({ input: 'Two?', store: false, previous_response_id: id }));
    await client.answers(2);
    expect(promptOf(target)).toBe('user: One?\nassistant: Yes.\nuser: Two?\nassistant: ');
    const other = new Client(target.url);
    await other.send(create({ input: 'Two?', previous_response_id: id }));
    expect(await other.answers()).toMatchObject([
      { type: 'error', status: 400, error: { code: 'previous_response_not_found' } },
    ]);
  });

  test('a chain of turns is held within the limit of the store', async () => {
    const target = await server({ maxModelLen: 100_000, responseStoreBytes: 50_000 });
    const client = new Client(target.url);
    const skipped = { store: false, generate: false };
    let id: string | undefined;
    let turns = 0;
    for (; turns < 20; turns++) {
      const input = `${turns}`.padEnd(4000, 'x');
      await client.send(create({ ...skipped, input, previous_response_id: id }));
      const last = (await client.answers(turns + 1)).at(-1);
      expect(target.context.responses.numBytes).toBeLessThanOrEqual(50_000);
      id = last?.response?.id;
      if (last?.type === 'error') break;
    }
    expect(client.events.at(-1)).toMatchObject({
      type: 'error',
      error: { code: 'previous_response_not_found' },
    });
    expect(turns).toBeGreaterThan(10);
    client.socket.close();
    await vi.waitFor(() => expect(target.context.responses.numBytes).toBe(0));
  });

  test('with generate: false only takes the input', async () => {
    const target = await server();
    const client = new Client(target.url);
    await client.send(create({ input: 'One?', store: false, generate: false }));
    const id = (await client.answers())[0]?.response?.id;
    expect(target.engine.requests).toHaveLength(0);
    await client.send(create({ input: 'Two?', previous_response_id: id }));
    await client.answers(2);
    expect(promptOf(target)).toBe('user: One?\nuser: Two?\nassistant: ');
  });

  test('answers one event after the other', async () => {
    const target = await server({ engine: { delayMs: 1 } });
    const client = new Client(target.url);
    for (let index = 0; index < 3; index++) await client.send(create({ input: `${index}` }));
    const events = await client.answers(3);
    expect(events.filter((item) => item.sequence_number === 0)).toHaveLength(3);
    const last = events.map(({ type }) => type).indexOf('response.completed');
    expect(events[last + 1]?.type).toBe('response.created');
  });

  test.each([
    ['{', 'invalid_json'],
    ['[]', 'invalid_json'],
    [{ type: 'response.steal' }, 'invalid_value'],
    [create({}), 'missing_required_parameter'],
    [create({ input: 'Hi', temperature: 9 }), 'invalid_value'],
  ])('answers %j with an error, and goes on', async (body, code) => {
    const { url } = await server();
    const client = new Client(url);
    await client.send(body);
    expect(await client.answers()).toMatchObject([{ type: 'error', status: 400, error: { code } }]);
    await client.send(create({ input: 'Hi' }));
    expect((await client.answers(2)).at(-1)?.type).toBe('response.completed');
  });

  test('frees the row when the socket closes', async () => {
    const { url, engine } = await server({ script: babbles, engine: { heldAfter: 1 } });
    const client = new Client(url);
    await client.send(create({ input: 'Hi' }));
    await vi.waitFor(() => expect(engine.running).toBe(1));
    client.socket.close();
    await vi.waitFor(() => expect(engine).toMatchObject({ running: 0, aborted: 1 }));
  });

  test('closes on shutdown once the response is done', async () => {
    const target = await server({ engine: { heldAfter: 1 } });
    const client = new Client(target.url);
    await client.send(create({ input: 'Hi' }));
    await vi.waitFor(() => expect(target.engine.requests).toHaveLength(1));
    const closed = target.close(60_000);
    target.engine.release();
    expect((await client.answers()).at(-1)?.type).toBe('response.completed');
    expect((await client.closed)[0]).toBe(1001);
    await closed;
  });
});
