/** Results computed once and kept, or computed ahead: whose they are, and who pays. */
import type { Attack } from '../support/attack.ts';
import type { Client } from '../support/client.ts';

const CACHE = ['--response-cache=32m'];
const PATH = '/v1/completions';
const SECRET = {
  prompt: 'The code of the vault is 7391, said the',
  max_tokens: 16,
  temperature: 0,
};

async function outcomeOf(client: Client, body: object, headers = {}): Promise<string> {
  const answer = await client.send(PATH, { body, headers });
  return String(answer.headers['x-chairlift-cache'] ?? answer.status);
}

/** Some 1,200 tokens, which begin unlike any other. */
const longPrompt = (at: number) =>
  `${at} ${'A fox met a hare in the wood and said hello. '.repeat(100)}`;

export const attacks: readonly Attack[] = [
  {
    name: "finds another key's answer, by any `Cache-Control`",
    flags: CACHE,
    hasKeys: true,
    async run({ attacker, victim }) {
      const breaches: string[] = [];
      await outcomeOf(victim, SECRET);
      const own = await outcomeOf(victim, SECRET);
      if (own !== 'hit') breaches.push(`the victim's own answer is a ${own}`);
      for (const control of ['only-if-cached', 'max-age=100000, no-store', 'no-store']) {
        const outcome = await outcomeOf(attacker, SECRET, { 'cache-control': control });
        if (outcome === 'hit') breaches.push(`"${control}" is a hit`);
      }
      return breaches;
    },
  },
  {
    name: "shares another key's run of an equal request",
    flags: CACHE,
    hasKeys: true,
    async run({ attacker, victim }) {
      const body = { ...SECRET, max_tokens: 200, ignore_eos: true };
      const run = outcomeOf(victim, body);
      const outcome = await outcomeOf(attacker, body);
      await run;
      return outcome === 'miss' ? [] : [`the attacker's was a ${outcome}`];
    },
  },
  {
    name: '300 equal requests that leave in the middle of the run that they share',
    flags: CACHE,
    async run({ attacker }) {
      const body = { ...SECRET, max_tokens: 400, ignore_eos: true };
      const signal = AbortSignal.timeout(300);
      const asked = Array.from({ length: 300 }, () => attacker.try(PATH, { body, signal }));
      const stays = attacker.send(PATH, { body });
      await Promise.all(asked);
      const { status, text } = await stays;
      return status === 200 ? [] : [`who stays got ${status} ${text.slice(0, 200)}`];
    },
  },
  {
    name: '2,000 answers into a cache of 1 MB, and headers that are no directives',
    flags: ['--response-cache=1m'],
    async run({ attacker }) {
      const controls = ['max-age=-1', 'max-age=9e99', '='.repeat(4000), ',,,,', 'no-store=1'];
      const lanes = Array.from({ length: 20 }, async (_, lane) => {
        for (let count = 0; count < 100; count++) {
          const body = { prompt: `${lane} ${count}`, max_tokens: 1, temperature: 0 };
          const headers = { 'cache-control': controls[count % controls.length] ?? '' };
          await attacker.try(PATH, { body, headers });
        }
      });
      await Promise.all(lanes);
    },
  },
  {
    name: '200 prompts of 1,200 tokens computed ahead, and half of the clients leave',
    hasKeys: true,
    maxWaitMs: 2000,
    async run({ attacker }) {
      const leaving = AbortSignal.timeout(500);
      const asked = Array.from({ length: 200 }, (_, at) =>
        attacker.try('/v1/prefetch', {
          body: { prompt: longPrompt(at) },
          ...(at % 2 === 0 ? { signal: leaving } : {}),
        }),
      );
      const answers = await Promise.all(asked);
      const refused = answers.filter((answer) => answer?.status === 429).length;
      return refused === 0 ? ['none of 200 at once was refused'] : [];
    },
  },
  {
    name: "pins prompts with a user's key, and finds what another key had computed ahead",
    hasKeys: true,
    async run({ attacker, victim }) {
      const breaches: string[] = [];
      const prompt = longPrompt(7391);
      const pin = await attacker.send('/v1/prefetch', { body: { prompt, pin: true } });
      if (pin.status !== 403) breaches.push(`to pin answered ${pin.status}`);
      await victim.send('/v1/prefetch', { body: { prompt } });
      const { text } = await attacker.send(PATH, { body: { prompt, max_tokens: 1 } });
      if (!text.includes('"cached_tokens":0')) breaches.push(`found: ${text.slice(-200)}`);
      return breaches;
    },
  },
  {
    name: '40 conversations whose next turns are computed ahead',
    flags: ['--prefetch-next-turn'],
    hasKeys: true,
    maxWaitMs: 2000,
    async run({ attacker }) {
      const content = longPrompt(1);
      const lanes = Array.from({ length: 4 }, async (_, lane) => {
        for (let count = 0; count < 10; count++) {
          const messages = [{ role: 'user', content: `${lane} ${count} ${content}` }];
          await attacker.try('/v1/chat/completions', { body: { messages, max_tokens: 8 } });
        }
      });
      await Promise.all(lanes);
    },
  },
];
