/** Keys of web pages, which come as a subprotocol. */
import { once } from 'node:events';
import { onTestFinished, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { startServer, type TestServer } from './support/test-server.ts';

async function keyed(): Promise<TestServer> {
  const target = await startServer({ config: { apiKeys: ['kéy=/+'] } });
  onTestFinished(() => target.close());
  return target;
}

function open({ url }: TestServer, protocols: readonly string[]): WebSocket {
  const address = `${url.replace('http', 'ws')}/v1/completions`;
  return new WebSocket(address, [...protocols]);
}

const protocolOf = (key: string) => `chairlift-key.${Buffer.from(key).toString('base64url')}`;

/** The status that an upgrade is refused with. */
async function refusalOf(socket: WebSocket): Promise<number | undefined> {
  const response = await new Promise<{ statusCode?: number | undefined }>((resolve, reject) => {
    socket.on('unexpected-response', (_request, answer) => resolve(answer));
    socket.on('open', () => reject(new Error('it was opened')));
    socket.on('error', () => {});
  });
  return response.statusCode;
}

test('a key opens a socket as a subprotocol, and is not repeated', async () => {
  const socket = open(await keyed(), ['chairlift', protocolOf('kéy=/+')]);
  const opened = once(socket, 'open');
  const [response] = (await once(socket, 'upgrade')) as [{ headers: object }];
  expect(JSON.stringify(response.headers)).not.toContain('chairlift-key');
  expect(socket.protocol).toBe('chairlift');
  await opened;
  socket.send(JSON.stringify({ request_id: '1', prompt: 'Hi' }));
  const [frame] = (await once(socket, 'message')) as [Buffer];
  expect(JSON.parse(frame.toString())).toMatchObject({
    request_id: '1',
    object: 'text_completion',
  });
  socket.terminate();
});

test.each([
  ['another key', ['chairlift', protocolOf('other')]],
  ['no key', ['chairlift']],
  ['what is no base64', ['chairlift', 'chairlift-key.~']],
  ['an empty key', ['chairlift', 'chairlift-key.']],
])('%s does not', async (_, protocols) => {
  expect(await refusalOf(open(await keyed(), protocols))).toBe(401);
});

test('a key alone is answered with no subprotocol at all', async () => {
  const socket = open(await keyed(), [protocolOf('kéy=/+')]);
  // The client's side takes that for an error, as browsers do.
  const [error] = (await once(socket, 'error')) as [Error];
  expect(error.message).toBe('Server sent no subprotocol');
});
