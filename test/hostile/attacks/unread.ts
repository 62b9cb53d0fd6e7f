/** Answers that one client asks for over many connections, and never reads. */
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack } from '../support/attack.ts';
import type { Client } from '../support/client.ts';

const HOLD_MS = 5000;

/** Each once at first, so that what a cache has costs no computing afterwards. */
async function neverRead(client: Client, number: number, path: string, body: object) {
  await client.try(path, { body });
  const payload = JSON.stringify(body);
  const headers = { 'content-type': 'application/json', 'content-length': payload.length };
  const sockets: Socket[] = [];
  for (let index = 0; index < number; index++) {
    const socket = await client.connect().catch(() => null);
    if (socket === null) continue;
    sockets.push(socket.pause());
    socket.write(`${client.head('POST', path, headers)}\r\n${payload}`);
  }
  await sleep(HOLD_MS);
  for (const socket of sockets) socket.destroy();
}

/** So many requests on each of so many sockets that are not read. */
async function neverReadFrames(client: Client, number: number, requests: number, body: object) {
  const sockets = await Promise.all(
    Array.from({ length: number }, () => client.socket('/v1/chat/completions').catch(() => null)),
  );
  for (const socket of sockets) {
    socket?.pause();
    for (let id = 0; id < requests; id++) {
      socket?.send(JSON.stringify({ ...body, request_id: `${id}` }));
    }
  }
  await sleep(4 * HOLD_MS);
  for (const socket of sockets) socket?.terminate();
}

const texts = Array.from({ length: 2048 }, (_, at) => `${at}`);
const chat = {
  messages: [{ role: 'user', content: 'Tell me a story.' }],
  temperature: 0,
  max_tokens: 400,
  logprobs: true,
  top_logprobs: 20,
};
const CACHED = ['--embedding-cache=64m', '--response-cache=64m'];

export const attacks: readonly Attack[] = [
  {
    name: 'vectors of 2,048 texts over 400 connections that read nothing',
    flags: CACHED,
    hasKeys: true,
    run: async ({ attacker }) => neverRead(attacker, 400, '/v1/embeddings', { input: texts }),
  },
  {
    name: 'the same from Ollama and TEI',
    flags: CACHED,
    hasKeys: true,
    async run({ attacker }) {
      await Promise.all([
        neverRead(attacker, 200, '/api/embed', { model: 'summit', input: texts }),
        neverRead(attacker, 200, '/embed', { inputs: texts }),
      ]);
    },
  },
  {
    name: 'answers with log-probabilities over 800 connections that read nothing, whole and streamed',
    flags: CACHED,
    hasKeys: true,
    async run({ attacker }) {
      await Promise.all([
        neverRead(attacker, 400, '/v1/chat/completions', chat),
        neverRead(attacker, 400, '/v1/chat/completions', { ...chat, stream: true }),
      ]);
    },
  },
  {
    name: 'tokens of a long text over 400 connections that read nothing',
    hasKeys: true,
    async run({ attacker }) {
      const prompt = 'a b c d '.repeat(2 ** 15);
      await neverRead(attacker, 400, '/tokenize', { prompt, return_token_strs: true });
    },
  },
  {
    name: '64 answers with log-probabilities on each of 200 WebSockets that read nothing',
    flags: CACHED,
    hasKeys: true,
    run: async ({ attacker }) => neverReadFrames(attacker, 200, 64, chat),
  },
];
