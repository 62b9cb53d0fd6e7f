import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { connectionAccepted } from '../src/accepted-connections.ts';
import { LoopTurns } from '../src/loop-turns.ts';

const NUM_CONNECTIONS = 160;

test('connections that have come are accepted before work that waits, but for a sixteenth of it', async () => {
  const turns = new LoopTurns(1);
  let numAccepted = 0;
  let numBegun = 0;
  let numBegunBefore = NaN;
  const server = createServer((socket) => {
    connectionAccepted();
    numAccepted++;
    if (numAccepted === NUM_CONNECTIONS) numBegunBefore = numBegun;
    void turns.next('anna').then(() => {
      numBegun++;
      socket.end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const clients = Array.from({ length: NUM_CONNECTIONS }, () =>
    connect(port, '127.0.0.1').resume(),
  );
  await Promise.all(clients.map((client) => once(client, 'close')));
  server.close();
  expect(numBegun).toBe(NUM_CONNECTIONS);
  // Some, so that connections without end keep no work from being done.
  expect(numBegunBefore).toBeGreaterThan(NUM_CONNECTIONS / 32);
  expect(numBegunBefore).toBeLessThan(NUM_CONNECTIONS / 8);
});

test('work that comes alone waits for no connection', async () => {
  const turns = new LoopTurns(1);
  let hasTurned = false;
  setImmediate(() => (hasTurned = true));
  connectionAccepted();
  await turns.next('anna');
  expect(hasTurned).toBe(false);
});
