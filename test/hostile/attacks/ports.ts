/**
 * Every port of a server, by the list of its doors, in plain text and with TLS: each kind of abuse that
 * needs no request, and no key.
 */
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { LIMITS } from '../../../src/limits.ts';
import type { Attack } from '../support/attack.ts';
import type { Client } from '../support/client.ts';
import { ATTACKED_PORTS, type Port, PORTS } from '../support/doors.ts';
import { FAMILIES, type Family } from '../support/port-families.ts';
import type { Words } from '../support/protocols.ts';

const MIB = 2 ** 20;
const TLS = new URL('../../support/tls/', import.meta.url).pathname;

async function connectTo(client: Client, port: Port): Promise<Socket | null> {
  const own = port === 'first' || port === 'webSocket' ? undefined : PORTS[port];
  return client.connectTo(own).catch(() => null);
}

async function connections(client: Client, port: Port, count: number): Promise<readonly Socket[]> {
  const opened = Array.from({ length: count }, () => connectTo(client, port));
  const sockets = await Promise.all(opened);
  return sockets.filter((socket) => socket !== null);
}

function leave(sockets: readonly Socket[]): void {
  for (const socket of sockets) socket.destroy();
}

/** Writes to each what it is told, `times` times, with a pause after each. */
async function tell(
  sockets: readonly Socket[],
  what: (time: number) => Buffer,
  times: number,
  pauseMs: number,
): Promise<void> {
  for (let time = 0; time < times; time++) {
    for (const socket of sockets) if (socket.writable) socket.write(what(time));
    await sleep(pauseMs);
  }
  leave(sockets);
}

type Abuse = (client: Client, port: Port) => Promise<void>;

/** In which nothing is said that any protocol knows: told to ports with TLS too. */
const WORDLESS: Readonly<Record<string, Abuse>> = {
  'many that are silent': async (client, port) => {
    const sockets = await connections(client, port, 1100);
    await sleep(4000);
    leave(sockets);
  },
  'much that is no protocol': async (client, port) => {
    const noise = randomBytes(MIB);
    const sockets = await connections(client, port, 8);
    await tell(sockets, (time) => (time < 8 ? noise : Buffer.alloc(MIB)), 16, 50);
  },
};

/** A failure of the server's own, where it speaks HTTP; more than that it may not say of others'. */
const FAULT = /^HTTP\/1\.1 (?!501|503|505)5\d\d /;

/** Milliseconds in which a port answers where there is more to say. */
const ANSWER_MS = 200;

/** Says it, over a connection of its own. @returns what should not have been answered */
async function say(client: Client, port: Port, words: Words, family: Family): Promise<string[]> {
  const { numPieces = 1, pauseMs, isRead = true, stayMs } = family;
  const socket = await connectTo(client, port);
  if (socket === null) return [];
  socket.setNoDelay();
  let answer = '';
  if (isRead) socket.on('data', (data: Buffer) => (answer ||= data.toString('latin1', 0, 200)));
  else socket.pause();
  const total = words.reduce((sum, { length }) => sum + length, 0);
  const length = Math.ceil(total / numPieces);
  for (const [index, part] of words.entries()) {
    for (let at = 0; at < part.length && socket.writable; at += length) {
      await new Promise((resolve) => socket.write(part.subarray(at, at + length), resolve));
      if (pauseMs !== undefined) await sleep(pauseMs);
    }
    if (index < words.length - 1) await sleep(ANSWER_MS);
  }
  await sleep(stayMs);
  // As a process that is killed leaves it.
  socket.resetAndDestroy();
  return FAULT.test(answer) ? [`${port} answered ${answer.slice(0, 20)}`] : [];
}

async function sayAll(client: Client, family: Family): Promise<string[]> {
  const told = ATTACKED_PORTS.flatMap((port) =>
    family
      .words(port)
      .flatMap((bytes) =>
        Array.from({ length: family.count }, () => say(client, port, bytes, family)),
      ),
  );
  const breaches = await Promise.all(told);
  return breaches.flat();
}

async function abuseAll(client: Client, abuse: Abuse, ports: readonly Port[]): Promise<void> {
  await Promise.all(ports.map((port) => abuse(client, port)));
}

const WITHOUT_EVENTS = [`--grpc-port=${PORTS.grpc}`, `--metrics-port=${PORTS.metrics}`];
const ALL = [
  ...WITHOUT_EVENTS,
  `--kv-events=tcp://127.0.0.1:${PORTS.events}`,
  `--kv-events-replay=tcp://127.0.0.1:${PORTS.replay}`,
];
/** ZeroMQ has no TLS, and can't have the same port again at once where it closed connections. */
const WITH_TLS = [
  ...WITHOUT_EVENTS,
  `--tls-cert=${TLS}first-cert.pem`,
  `--tls-key=${TLS}first-key.pem`,
];

const FEW = 64;

/** @returns what is wrong where more connections stay open than the server may have */
async function overfill(client: Client): Promise<string[]> {
  const sockets = await Promise.all(
    ATTACKED_PORTS.map(async (port) => connections(client, port, 2 * FEW)),
  );
  // The end of a connection is noticed by who reads.
  for (const socket of sockets.flat()) socket.resume();
  await sleep(1500);
  const open = sockets.flat().filter(({ readyState }) => readyState === 'open').length;
  leave(sockets.flat());
  return open > FEW + LIMITS.reservedConnections ? [`${open} connections stayed open`] : [];
}

/** One handshake after the other, as fast as the server makes them. */
async function handshakes(client: Client, port: Port, ms: number): Promise<void> {
  const end = performance.now() + ms;
  while (performance.now() < end) {
    const socket = await connectTo(client, port);
    if (socket === null) continue;
    await new Promise<void>((resolve) => {
      connectTls({ socket, rejectUnauthorized: false, session: undefined })
        .on('secureConnect', () => resolve())
        .on('error', () => resolve());
      socket.once('close', () => resolve());
    });
    socket.destroy();
  }
}

const NAMED = Object.entries(FAMILIES);
/** Two families at a time: each by itself does less harm, and a server has to be started for each. */
const PAIRS = NAMED.slice(0, NAMED.length / 2).map(
  (one, index) => [one, NAMED.at(-1 - index) ?? one] as const,
);

export const attacks: readonly Attack[] = [
  ...Object.entries(WORDLESS).flatMap(([name, abuse]): Attack[] => [
    {
      name: `every port: ${name}`,
      flags: ALL,
      hasKeys: true,
      metricsPort: PORTS.metrics,
      run: ({ attacker }) => abuseAll(attacker, abuse, ATTACKED_PORTS),
    },
    {
      name: `ports with TLS: ${name}`,
      flags: WITH_TLS,
      hasKeys: true,
      metricsPort: PORTS.metrics,
      run: ({ attacker }) => abuseAll(attacker, abuse, ['first', 'grpc']),
    },
  ]),
  ...PAIRS.map((pair): Attack => ({
    name: `every port: ${pair.map(([name]) => name).join(', and ')}`,
    flags: ALL,
    hasKeys: true,
    metricsPort: PORTS.metrics,
    async run({ attacker }) {
      const breaches = await Promise.all(pair.map(([, family]) => sayAll(attacker, family)));
      return breaches.flat();
    },
  })),
  {
    name: 'every port: twice the connections that all of them may have',
    flags: [...ALL, `--max-connections=${FEW}`],
    hasKeys: true,
    metricsPort: PORTS.metrics,
    run: ({ attacker }) => overfill(attacker),
  },
  {
    name: 'ports with TLS: handshakes, four at a time for 6 seconds',
    flags: WITH_TLS,
    hasKeys: true,
    metricsPort: PORTS.metrics,
    async run({ attacker }) {
      const ports: readonly Port[] = ['first', 'first', 'grpc', 'grpc'];
      await Promise.all(ports.map((port) => handshakes(attacker, port, 6000)));
    },
  },
];
