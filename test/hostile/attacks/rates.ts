/** Clients that pass for others: rates, and requests by their ids. */
import { until } from '../../support/processes.ts';
import type { Attack } from '../support/attack.ts';
import type { Client } from '../support/client.ts';

const PATH = '/v1/completions';
const small = { prompt: 'Hi', max_tokens: 1 };
/** More than what the victim asks for in a minute. */
const RATE = 100;
const LIMITED = [`--rate-limit-requests=${RATE}`];
const TRIES = 2 * RATE;

/** How many of the attacker's requests are served that go about it like this. */
async function served(send: (at: number) => Promise<number>): Promise<number> {
  let count = 0;
  for (let at = 0; at < TRIES; at++) if ((await send(at)) === 200) count++;
  return count;
}

function tooMany(count: number): readonly string[] {
  // The minute may have ended once.
  return count <= RATE ? [] : [`${count} requests were served; the rate is ${RATE}`];
}

async function overSockets(client: Client, at: number): Promise<number> {
  const socket = await client.socket(PATH);
  const answered = new Promise<string>((resolve) => {
    socket.once('message', (data: Buffer) => resolve(data.toString()));
    socket.once('close', () => resolve('closed'));
  });
  socket.send(JSON.stringify({ ...small, request_id: String(at) }));
  const answer = await answered;
  socket.terminate();
  return answer.includes('"choices"') ? 200 : 429;
}

export const attacks: readonly Attack[] = [
  {
    name: 'a rate is not evaded by `x-forwarded-for`',
    flags: LIMITED,
    async run({ attacker }) {
      const count = await served(async (at) => {
        const headers = { 'x-forwarded-for': `203.0.113.${at}`, forwarded: `for=203.0.113.${at}` };
        return (await attacker.send(PATH, { body: small, headers })).status;
      });
      return tooMany(count);
    },
  },
  {
    name: 'a rate is not evaded by `user`, nor by going from API to API',
    flags: LIMITED,
    hasKeys: true,
    async run({ attacker }) {
      const ways = [
        (user: string) => attacker.send(PATH, { body: { ...small, user } }),
        (user: string) => attacker.send('/v1/embeddings', { body: { input: 'Hi', user } }),
        () => attacker.send('/v2/models/summit/generate', { body: { text_input: 'Hi' } }),
        () => attacker.send('/api/embed', { body: { model: 'summit', input: 'Hi' } }),
      ];
      const count = await served(async (at) => {
        const answer = await ways[at % ways.length]?.(`user ${at}`);
        return answer?.status ?? 0;
      });
      return tooMany(count);
    },
  },
  {
    name: 'a rate is not evaded by WebSockets',
    flags: LIMITED,
    hasKeys: true,
    async run({ attacker }) {
      return tooMany(await served((at) => overSockets(attacker, at)));
    },
  },
  {
    name: "another key's request is neither listed nor ended",
    hasKeys: true,
    async run({ attacker, victim }) {
      const breaches: string[] = [];
      const id = 'the-victims-request';
      const body = { prompt: 'Once upon a time', max_tokens: 1500, ignore_eos: true };
      const asked = victim.send(PATH, { body, headers: { 'x-request-id': id } });
      const isListed = async () => (await victim.send('/v1/requests')).text.includes(id);
      await until(isListed, "the victim's request in its own list");
      const listed = await attacker.send('/v1/requests');
      if (listed.text.includes(id)) breaches.push('it was listed');
      const ended = await attacker.send(`/v1/requests/${id}`, { method: 'DELETE' });
      if (ended.status !== 404) breaches.push(`to end it answered ${ended.status}`);
      const { status } = await asked;
      if (status !== 200) breaches.push(`the victim's request ended with ${status}`);
      return breaches;
    },
  },
];
