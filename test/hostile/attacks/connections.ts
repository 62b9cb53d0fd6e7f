/** Connections that are slow, idle, many, or odd. */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack } from '../support/attack.ts';
import type { Client } from '../support/client.ts';

/** As many as the server lets in. */
async function connections(attacker: Client, count: number): Promise<readonly Socket[]> {
  const opened = Array.from({ length: count }, () => attacker.connect().catch(() => null));
  const sockets = await Promise.all(opened);
  return sockets.flatMap((socket) => (socket === null ? [] : [socket]));
}

/** Writes a piece to each every so often. */
async function trickle(sockets: readonly Socket[], piece: string, times: number): Promise<void> {
  for (let time = 0; time < times; time++) {
    for (const socket of sockets) if (!socket.destroyed) socket.write(piece);
    await sleep(250);
  }
  for (const socket of sockets) socket.destroy();
}

const json = { 'content-type': 'application/json' };

export const attacks: readonly Attack[] = [
  {
    name: '1,000 connections that never finish their headers',
    async run({ attacker }) {
      const sockets = await connections(attacker, 1000);
      for (const socket of sockets) socket.write(attacker.head('GET', '/v1/models', {}));
      await trickle(sockets, 'x-more: 1\r\n', 16);
    },
  },
  {
    name: '500 bodies of 8 MB that come byte by byte',
    async run({ attacker }) {
      const sockets = await connections(attacker, 500);
      const head = attacker.head('POST', '/v1/completions', { ...json, 'content-length': 8e6 });
      for (const socket of sockets) socket.write(`${head}\r\n{"prompt":"`);
      await trickle(sockets, 'x', 16);
    },
  },
  {
    name: '40 bodies of 8 MB that lack their last byte',
    async run({ attacker }) {
      const sockets = await connections(attacker, 40);
      const head = attacker.head('POST', '/v1/completions', { ...json, 'content-length': 8e6 });
      const most = ' '.repeat(8e6 - 1);
      for (const socket of sockets) socket.write(`${head}\r\n${most}`);
      await trickle(sockets, '', 24);
    },
  },
  {
    name: 'chunked bodies in chunks of one byte, 100,000 of them',
    async run({ attacker }) {
      const sockets = await connections(attacker, 8);
      const head = attacker.head('POST', '/v1/completions', {
        ...json,
        'transfer-encoding': 'chunked',
      });
      for (const socket of sockets) socket.write(`${head}\r\n${'1\r\n \r\n'.repeat(100_000)}`);
      await trickle(sockets, '', 12);
    },
  },
  {
    name: '64 streams that nobody reads',
    async run({ attacker }) {
      const sockets = await connections(attacker, 64);
      const body = JSON.stringify({
        prompt: 'Once upon a time',
        max_tokens: 400,
        ignore_eos: true,
        logprobs: 20,
        stream: true,
      });
      const head = attacker.head('POST', '/v1/completions', {
        ...json,
        'content-length': body.length,
      });
      for (const socket of sockets) socket.pause().write(`${head}\r\n${body}`);
      await trickle(sockets, '', 48);
    },
  },
  {
    name: '2,000 idle connections',
    async run({ attacker }) {
      await trickle(await connections(attacker, 2000), '', 12);
    },
  },
  {
    name: 'requests pipelined by the ten thousand',
    async run({ attacker }) {
      const sockets = await connections(attacker, 4);
      const get = `${attacker.head('GET', '/v1/models', {})}\r\n`;
      for (const socket of sockets) socket.resume().write(get.repeat(10_000));
      await trickle(sockets, '', 24);
    },
  },
  {
    name: 'headers of 15 KB, 1,900 of them, paths of 15 KB, no sense at all',
    async run({ attacker }) {
      const headers = 'a:\r\n'.repeat(1900);
      const long = 'x'.repeat(15_000);
      const requests = [
        `${attacker.head('GET', '/v1/models', {})}${headers}\r\n`,
        `${attacker.head('GET', `/${long}`, {})}\r\n`,
        `${attacker.head('GET', `/v1/models?${'a=1&'.repeat(3500)}`, {})}\r\n`,
        `${attacker.head('POST', '/v1/completions', { 'content-type': long })}\r\n`,
        `${attacker.head('GET', '/v1/models', { authorization: `Bearer ${long}` })}\r\n`,
        `${attacker.head('GET', `/v1/responses/${'%2e'.repeat(4000)}`, {})}\r\n`,
        `${long}\r\n\r\n`,
        '\0'.repeat(10_000),
      ];
      for (let round = 0; round < 50; round++) {
        const sockets = await connections(attacker, requests.length);
        for (const [index, socket] of sockets.entries()) socket.write(requests[index] ?? '');
        await sleep(20);
        for (const socket of sockets) socket.destroy();
      }
    },
  },
  {
    name: '`Upgrade: h2c` 200 times over one connection',
    async run({ attacker }) {
      const headers = {
        connection: 'Upgrade, HTTP2-Settings',
        upgrade: 'h2c',
        'http2-settings': '',
      };
      const breaches: string[] = [];
      for (let count = 0; count < 200; count++) {
        const { status } = await attacker.send('/v1/models', { headers });
        if (status !== 200) breaches.push(`answered ${status}`);
      }
      return breaches.slice(0, 1);
    },
  },
];
