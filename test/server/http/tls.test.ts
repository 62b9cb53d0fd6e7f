/** HTTPS and WebSocket over TLS, and certificates that are renewed. */
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { get, request } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, type PeerCertificate } from 'node:tls';
import { afterEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { LIMITS } from '../../../src/limits.ts';
import { ConnectionPlaces } from '../../../src/server/http/connection-places.ts';
import { readTls } from '../../../src/server/http/tls.ts';
import { useServers } from '../support/test-server.ts';

const server = useServers();
const folder = new URL('../../support/tls/', import.meta.url).pathname;
const filesOf = (name: string) => ({
  cert: join(folder, `${name}-cert.pem`),
  key: join(folder, `${name}-key.pem`),
});

async function peerOf(url: string): Promise<PeerCertificate> {
  const { hostname, port } = new URL(url);
  const socket = connectTls({ host: hostname, port: Number(port), rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const peer = socket.getPeerCertificate();
  socket.destroy();
  return peer;
}

describe('over TLS', () => {
  test('requests and sockets are served, and trusted by who knows the certificate', async () => {
    const tls = await readTls(filesOf('first'));
    const { url } = await server({ tls });
    expect(url).toMatch(/^https:/);
    const ca = tls.cert;
    const [response] = await once(get(`${url}/version`, { ca, agent: false }), 'response');
    expect(response.statusCode).toBe(200);
    const socket = new WebSocket(`${url.replace('https', 'wss')}/v1/completions`, { ca });
    await once(socket, 'open');
    socket.send(JSON.stringify({ request_id: 'r', prompt: 'Hi' }));
    const [frame] = await once(socket, 'message');
    expect(JSON.parse(String(frame))).toMatchObject({ request_id: 'r', choices: [{ index: 0 }] });
    socket.close();
  });

  test('an offer of HTTP/2 is passed over', async () => {
    const tls = await readTls(filesOf('first'));
    const { url } = await server({ tls });
    const headers = { connection: 'upgrade', upgrade: 'h2c' };
    const offer = request(`${url}/version`, { ca: tls.cert, agent: false, headers });
    offer.end();
    const [response] = await once(offer, 'response');
    expect(response.statusCode).toBe(200);
    response.resume();
  });

  test('a handshake that is not gone on with does not hold the server at its end', async () => {
    const tls = await readTls(filesOf('first'));
    const target = await server({ tls });
    const { port } = new URL(target.url);
    const stalled = connectTcp(Number(port), '127.0.0.1');
    await once(stalled, 'connect');
    const done = connectTls({ port: Number(port), ca: tls.cert, servername: 'localhost' });
    await once(done, 'secureConnect');
    // Longer than a handshake may take.
    const begun = performance.now();
    const closed = target.close(30_000);
    await once(stalled, 'close');
    await once(done, 'close');
    await closed;
    expect(performance.now() - begun).toBeLessThan(LIMITS.tlsHandshakeMs / 2);
  });

  test('handshakes that are not gone on with make room', async () => {
    const tls = await readTls(filesOf('first'));
    const places = new ConnectionPlaces({ maxConnections: 3, maxConnectionsPerAddress: null });
    const target = await server({ tls, connections: { places } });
    const { port } = new URL(target.url);
    const stalled = Array.from({ length: 9 }, () => connectTcp(Number(port), '127.0.0.1'));
    const closed = stalled.map((socket) => once(socket, 'close'));
    await Promise.all(stalled.map((socket) => once(socket, 'connect')));
    const [response] = await once(get(`${target.url}/livez`, { ca: tls.cert }), 'response');
    expect(response.statusCode).toBe(200);
    // All but those that have a place beside the one that asked.
    await Promise.all(closed.slice(0, 7));
    for (const socket of stalled) socket.destroy();
  });

  test('new connections get the new certificate', async () => {
    const target = await server({ tls: await readTls(filesOf('first')) });
    expect((await peerOf(target.url)).subject.CN).toBe('first test certificate');
    target.setTls(await readTls(filesOf('second')));
    expect((await peerOf(target.url)).subject.CN).toBe('second test certificate');
  });
});

describe('files that cannot be used', () => {
  const made: string[] = [];
  afterEach(async () => {
    for (const path of made.splice(0)) await rm(path, { recursive: true });
  });
  const write = async (text: string): Promise<string> => {
    const path = await mkdtemp(join(tmpdir(), 'chairlift-tls-'));
    made.push(path);
    await writeFile(join(path, 'file.pem'), text);
    return join(path, 'file.pem');
  };

  test('are named when one is missing', async () => {
    const files = { ...filesOf('first'), key: '/nowhere/key.pem' };
    await expect(readTls(files)).rejects.toThrow(/\/nowhere\/key\.pem/);
  });

  test('are named when they do not belong together', async () => {
    const files = { cert: filesOf('first').cert, key: filesOf('second').key };
    await expect(readTls(files)).rejects.toThrow(
      /second-key\.pem does not belong to the certificate in .*first-cert\.pem/,
    );
  });

  test.each(['cert', 'key'] as const)('are named when the %s is none', async (field) => {
    const path = await write('no PEM');
    const reading = readTls({ ...filesOf('first'), [field]: path });
    await expect(reading).rejects.toThrow(new RegExp(`${path} has no`));
  });

  test('are not those with a chain', async () => {
    const { cert, key } = filesOf('first');
    const second = await readFile(filesOf('second').cert, 'utf8');
    const chain = await write((await readFile(cert, 'utf8')) + second);
    expect((await readTls({ cert: chain, key })).cert).toContain(second);
  });
});
