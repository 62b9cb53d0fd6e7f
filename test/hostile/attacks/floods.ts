/** Honest requests in dishonest numbers, or with dishonest ranks. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attack } from '../support/attack.ts';
import type { Client } from '../support/client.ts';

const PATH = '/v1/completions';
const body = { prompt: 'Once upon a time', max_tokens: 48, ignore_eos: true };

const flood = (client: Client, count: number, fields: object) =>
  Promise.all(
    Array.from({ length: count }, () => client.try(PATH, { body: { ...body, ...fields } })),
  );

/** Keeps at it: whoever is refused asks again at once. */
const siege = (client: Client, lanes: number, fields: object, ms: number) => {
  const end = performance.now() + ms;
  const lane = async (): Promise<void> => {
    while (performance.now() < end) {
      const answer = await client.try(PATH, { body: { ...body, ...fields } });
      if (answer?.status !== 200) await sleep(50);
    }
  };
  return Promise.all(Array.from({ length: lanes }, lane));
};

/** So few rows that what comes first matters. */
const FEW_ROWS = ['--max-num-seqs=4'];

/** A flood's own request takes a second or so; what waits longer was not given its turn. */
const maxWaitMs = 5000;

export const attacks: readonly Attack[] = [
  {
    name: '`priority: -9e15`, 200 times',
    flags: FEW_ROWS,
    hasKeys: true,
    maxWaitMs,
    async run({ attacker }) {
      await flood(attacker, 200, { priority: -9e15 });
    },
  },
  {
    name: 'the best priority there is, 200 times',
    flags: FEW_ROWS,
    hasKeys: true,
    maxWaitMs,
    async run({ attacker }) {
      await flood(attacker, 200, { priority: 0 });
    },
  },
  {
    name: 'a queue full of one key must have room for the other',
    flags: [...FEW_ROWS, '--max-queue=32'],
    hasKeys: true,
    maxWaitMs,
    async run({ attacker }) {
      await siege(attacker, 100, {}, 8000);
    },
  },
  {
    name: 'a queue full of prompts that are being made',
    flags: [...FEW_ROWS, '--max-queue=32'],
    hasKeys: true,
    maxWaitMs,
    async run({ attacker }) {
      await siege(
        attacker,
        100,
        { prompt: 'Once upon a time there was a fox. '.repeat(170) },
        8000,
      );
    },
  },
  {
    name: '128 choices each, 20 times',
    hasKeys: true,
    maxWaitMs: 10_000,
    async run({ attacker }) {
      await flood(attacker, 20, { n: 128, max_tokens: 16 });
    },
  },
  {
    name: 'beam searches as wide as they may be, 20 times, and wider ones',
    hasKeys: true,
    maxWaitMs: 10_000,
    async run({ attacker }) {
      await flood(attacker, 20, { use_beam_search: true, n: 128, max_tokens: 16 });
      const wider = await attacker.send(PATH, {
        body: { ...body, use_beam_search: true, n: 129 },
      });
      return wider.status === 400 ? [] : [`129 beams answered ${wider.status}`];
    },
  },
  {
    name: 'beam searches as long as the context, whose clients leave',
    flags: FEW_ROWS,
    hasKeys: true,
    maxWaitMs,
    async run({ attacker }) {
      const search = { ...body, use_beam_search: true, n: 8, max_tokens: 1000, min_tokens: 1000 };
      for (let round = 0; round < 10; round++) {
        const signal = AbortSignal.timeout(300);
        await Promise.all(
          Array.from({ length: 8 }, () => attacker.try(PATH, { body: search, signal })),
        );
      }
      const short = { ...body, use_beam_search: true, n: 4, max_tokens: 4 };
      const after = await attacker.send(PATH, { body: short });
      // Whatever they held is free within a step.
      return after.status === 200 ? [] : [`a search after them answered ${after.status}`];
    },
  },
  {
    name: '20 log-probabilities of each token of 64 choices, in one answer',
    hasKeys: true,
    async run({ attacker }) {
      await flood(attacker, 1, { n: 64, max_tokens: 100, logprobs: 20 });
    },
  },
  {
    name: '2,000 GETs each of /openapi.json, /docs and /metrics',
    async run({ attacker }) {
      const paths = ['/openapi.json', '/docs', '/metrics'];
      // As many at once as a browser or a scraper gone wild has.
      const lanes = Array.from({ length: 30 }, async (_, lane) => {
        for (let count = 0; count < 200; count++) await attacker.try(paths[lane % 3] ?? '');
      });
      await Promise.all(lanes);
    },
  },
  {
    name: '200 streams opened and dropped, five times',
    async run({ attacker }) {
      for (let round = 0; round < 5; round++) {
        const signal = AbortSignal.timeout(400);
        const sent = Array.from({ length: 200 }, () =>
          attacker.try(PATH, { body: { ...body, stream: true, max_tokens: 1500 }, signal }),
        );
        await Promise.all(sent);
      }
    },
  },
  {
    name: '`user` of a thousand names does not make a thousand clients of one key',
    flags: FEW_ROWS,
    hasKeys: true,
    maxWaitMs,
    async run({ attacker }) {
      const sent = Array.from({ length: 200 }, (_, index) =>
        attacker.try(PATH, { body: { ...body, user: `user ${index}` } }),
      );
      await Promise.all(sent);
    },
  },
  {
    name: 'background responses, 100 of them, left alone',
    hasKeys: true,
    maxWaitMs: 10_000,
    async run({ attacker }) {
      const input = { input: 'Tell me a story.', background: true, max_output_tokens: 64 };
      const sent = Array.from({ length: 100 }, () =>
        attacker.try('/v1/responses', { body: input }),
      );
      await Promise.all(sent);
      // Until those that were taken are done.
      await sleep(8000);
    },
  },
  {
    name: "a client's `timeout` does not outlast `--request-timeout`",
    // The victim's own texts take longer than what is tested with.
    flags: ['--request-timeout=12'],
    async run({ attacker }) {
      const long = { ...body, n: 8, max_tokens: 1900, ignore_eos: true, timeout: 3600 };
      const { ms, status } = await attacker
        .send(PATH, { body: long })
        .catch(() => ({ ms: Infinity, status: 0 }));
      return ms < 16_000 ? [] : [`ended after ${ms.toFixed(0)} ms with ${status}`];
    },
  },
];
