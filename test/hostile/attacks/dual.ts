/** Images for a model that embeds them: bombs, floods, and other things in their place. */
import sharp from 'sharp';
import { gifBomb, pngBomb, webpBomb } from '../../support/image-bombs.ts';
import type { Attack } from '../support/attack.ts';
import type { Client } from '../support/client.ts';

const DUAL = 'dual';
const common = {
  flags: ['summit=models/summit', `${DUAL}=test/fixtures/dual-encoders/clip`].flatMap((model) => [
    '--model',
    model,
  ]),
} as const;

/** As many as a request may have. */
const MOST = 16;
const LANES = 8;
const SLOW_MS = 5000;

const [EMBEDDINGS, SCORE, LABELS] = ['/v1/embeddings', '/v1/score', `/models/${DUAL}`];

let numNoises = 0;

/** An image that nobody has seen before. */
async function noise(width: number, height: number): Promise<string> {
  const pixels = Buffer.alloc(width * height * 3);
  let state = ++numNoises;
  for (let at = 0; at < pixels.length; at++) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) | 0;
    pixels[at] = state >>> 16;
  }
  const file = sharp(pixels, { raw: { width, height, channels: 3 } }).png();
  return (await file.toBuffer()).toString('base64');
}

type Try = readonly [path: string, body: object];

/** @returns answers with another status than `expected` */
async function sendAll(
  client: Client,
  tries: readonly Try[],
  expected: (status: number) => boolean,
): Promise<string[]> {
  const breaches: string[] = [];
  const left = [...tries];
  const lane = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [path, body] = next;
      const answer = await client.try(path, { body: { model: DUAL, ...body } });
      if (answer === null || answer === undefined || expected(answer.status)) continue;
      breaches.push(`${path} answered ${answer.status}`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return breaches;
}

function everywhere(image: string): Try[] {
  const url = `data:image/png;base64,${image}`;
  const content = [{ type: 'image_url', image_url: { url } }];
  return [
    [EMBEDDINGS, { input: ['a', { image }] }],
    [EMBEDDINGS, { messages: [{ role: 'user', content }] }],
    [EMBEDDINGS, { input: [url], modality: 'image' }],
    ['/v2/embed', { images: [url] }],
    [SCORE, { data_1: { content }, data_2: ['a', 'b'] }],
    ['/v1/rerank', { query: { image }, documents: ['a', { image }] }],
    ['/rerank', { query: 'a', texts: [{ image }] }],
    [LABELS, { inputs: image, parameters: { candidate_labels: ['a', 'b'] } }],
  ];
}

export const attacks: readonly Attack[] = [
  {
    ...common,
    name: 'a model that embeds images is sent 3.6 billion pixels, and files that are none',
    async run({ attacker }) {
      const whole = Buffer.from(await noise(64, 64), 'base64');
      const files = [
        pngBomb(60_000),
        gifBomb(),
        webpBomb(),
        whole.subarray(0, whole.length / 2),
        Buffer.concat([whole.subarray(0, 40), Buffer.alloc(1_000_000)]),
        Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
      ];
      const tries = files.flatMap((file) => everywhere(file.toString('base64')));
      const rounds = Array.from({ length: 4 }, () => tries).flat();
      return await sendAll(attacker, rounds, (status) => status === 400);
    },
  },
  {
    ...common,
    name: 'sixteen images in each of many requests for vectors and scores; the other key asks for one',
    hasKeys: true,
    maxWaitMs: 10_000,
    async run({ attacker, victim }) {
      const images = await Promise.all(Array.from({ length: MOST }, () => noise(300, 200)));
      const input = images.map((image) => ({ image }));
      const tries: Try[] = Array.from({ length: 30 }, (_, round) =>
        round % 2 === 0
          ? [EMBEDDINGS, { input }]
          : [SCORE, { queries: `text ${round}`, documents: input }],
      );
      const flood = sendAll(attacker, tries, (status) => [200, 429].includes(status));
      const breaches: string[] = [];
      for (let round = 0; round < 5; round++) {
        const body = { model: DUAL, input: { image: await noise(40, 30) } };
        const answer = await victim.send(EMBEDDINGS, { body });
        if (answer.status !== 200) breaches.push(`the victim got ${answer.status} ${answer.text}`);
        if (answer.ms > SLOW_MS) breaches.push(`the victim waited ${Math.round(answer.ms)} ms`);
      }
      return [...breaches, ...(await flood)];
    },
  },
  {
    ...common,
    name: 'more images than there may be, lists of a hundred thousand objects, and nested ones',
    async run({ attacker }) {
      const image = await noise(8, 8);
      const many = (count: number, item: unknown) => Array.from({ length: count }, () => item);
      let nested: unknown = { content: [{ text: 'a' }] };
      for (let depth = 0; depth < 50; depth++) nested = { content: [nested] };
      const inputs = [
        many(MOST + 1, { image }),
        many(2048, { image: 'AAAA' }),
        many(100_000, { text: 'a' }),
        many(100_000, {}),
        [nested],
        [{ content: many(10_000, { text: 'a' }) }],
        [{ image: 'file:///etc/passwd' }],
        [{ image: 'http://169.254.169.254/latest/meta-data' }],
        [{ image: 'data:text/html;base64,AAAA' }],
        [{ image: 5 }, { image_url: [] }, { text: {} }],
      ];
      const tries = inputs.flatMap((input): Try[] => [
        [EMBEDDINGS, { input }],
        [SCORE, { queries: 'a', documents: input }],
        [EMBEDDINGS, { messages: input }],
        [LABELS, { inputs: input, parameters: { candidate_labels: ['a'] } }],
      ]);
      return await sendAll(attacker, tries, (status) => status === 400);
    },
  },
];
