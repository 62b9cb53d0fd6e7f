/** Answers that go on elsewhere: forged, of another key, and again and again. */
import { randomBytes } from 'node:crypto';
import type { Attack } from '../support/attack.ts';
import type { Answer, Client } from '../support/client.ts';

const RESUMABLE = [`--resume-key=${'k'.repeat(32)}`];
const PATH = '/v1/completions';
const body = { prompt: 'Once upon a time', max_tokens: 40, ignore_eos: true, stream: true };

async function begin(client: Client): Promise<string> {
  const { headers } = await client.send(PATH, { body });
  return String(headers['x-resume-token']);
}

function goOn(client: Client, resume: unknown, fields: object = {}): Promise<Answer> {
  return client.send(PATH, { body: { ...body, ...fields, resume } });
}

export const attacks: readonly Attack[] = [
  {
    name: "goes on with another key's answer",
    flags: RESUMABLE,
    hasKeys: true,
    async run({ attacker, victim }) {
      const breaches: string[] = [];
      const token = await begin(victim);
      const own = await goOn(victim, { token, counts: [3] });
      if (own.status !== 200) breaches.push(`the victim itself got ${own.status} ${own.text}`);
      const foreign = await goOn(attacker, { token, counts: [3] });
      const forged = await goOn(attacker, {
        token: randomBytes(300).toString('base64url'),
        counts: [3],
      });
      if (foreign.status !== 400) breaches.push(`it answered ${foreign.status}`);
      if (foreign.text !== forged.text) breaches.push(`it tells a foreign token: ${foreign.text}`);
      const headers = { 'last-event-id': '3', 'x-resume-token': token };
      const byHeader = await attacker.send(PATH, { body, headers });
      if (byHeader.status !== 400) breaches.push(`by its headers: ${byHeader.status}`);
      return breaches;
    },
  },
  {
    name: 'tokens with a bit changed, counts and ids of tokens that there are not',
    flags: RESUMABLE,
    async run({ attacker }) {
      const breaches: string[] = [];
      const token = await begin(attacker);
      for (let at = 0; at < token.length; at += 7) {
        const changed = token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1);
        const { status } = await goOn(attacker, { token: changed, counts: [0] });
        if (status !== 400) breaches.push(`changed at ${at}: ${status}`);
      }
      const wrong = [
        { token, counts: [2 ** 31] },
        { token, counts: [-1] },
        { token, counts: [1e300] },
        { token, counts: Array.from({ length: 100_000 }, () => 1) },
        { token, counts: [0, 0] },
        { token, counts: [0], tokens: [[2 ** 40]] },
        { token, counts: [0], tokens: [Array.from({ length: 50_000 }, () => 1)] },
        { token, counts: [0], tokens: [['1']] },
        { token: 'x'.repeat(1_000_000), counts: [0] },
        { token: null },
        [],
      ];
      for (const resume of wrong) {
        const { status } = await goOn(attacker, resume);
        if (status !== 400) breaches.push(`${JSON.stringify(resume).slice(-80)}: ${status}`);
      }
      const other = await goOn(attacker, { token, counts: [0] }, { prompt: 'Another prompt' });
      if (other.status !== 409) breaches.push(`another prompt: ${other.status}`);
      return breaches.slice(0, 5);
    },
  },
  {
    name: 'one answer, gone on with 500 times at once, far ahead of what it has',
    flags: RESUMABLE,
    hasKeys: true,
    maxWaitMs: 2000,
    async run({ attacker }) {
      const token = await begin(attacker);
      const again = Array.from({ length: 500 }, () =>
        attacker.try(PATH, {
          body: { ...body, max_tokens: 200, resume: { token, counts: [199] } },
          signal: AbortSignal.timeout(8000),
        }),
      );
      await Promise.all(again);
    },
  },
  {
    name: "the replicas' own route, without their key",
    flags: RESUMABLE,
    async run({ attacker }) {
      const breaches: string[] = [];
      const token = await begin(attacker);
      const seals = ['', token, 'x'.repeat(8000), randomBytes(100).toString('base64url')];
      for (const seal of seals) {
        const { status } = await attacker.send('/internal/v1/resume', {
          body: { ...body, resume: { token, counts: [0] } },
          headers: { 'x-chairlift-handover': seal },
        });
        if (status !== 401) breaches.push(`${seal.slice(0, 20)}: ${status}`);
      }
      return breaches;
    },
  },
  {
    name: "an answer's token at other APIs, and numbers of events that there are not",
    flags: RESUMABLE,
    async run({ attacker }) {
      const breaches: string[] = [];
      const token = await begin(attacker);
      const messages = [{ role: 'user', content: 'Hi' }];
      const others = [
        ['/v1/chat/completions', { messages }],
        ['/v1/messages', { messages, max_tokens: 9 }],
        ['/v1/responses', { input: 'Hi' }],
      ] as const;
      for (const [path, fields] of others) {
        const resume = { token, counts: [1] };
        const { status } = await attacker.send(path, { body: { ...fields, resume } });
        if (status !== 400) breaches.push(`${path}: ${status}`);
      }
      for (const events of [-1, 2 ** 60, 1.5, '1', []]) {
        const { status } = await goOn(attacker, { token, counts: [1], events });
        if (status !== 400) breaches.push(`${JSON.stringify(events)} events: ${status}`);
      }
      return breaches;
    },
  },
];
