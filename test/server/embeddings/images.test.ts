/** Texts and images in one space: embeddings, scores and labels, held against Transformers. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { LIMITS } from '../../../src/limits.ts';
import { pngBomb } from '../../support/image-bombs.ts';
import {
  DUAL_MODELS,
  dualImage,
  type DualName,
  dualReference,
} from '../../support/dual-encoders.ts';
import { errorOf, post, type Target } from '../support/client.ts';
import { servingOf } from '../support/serving-encoders.ts';
import { useEncoders } from '../support/stateless-models.ts';
import { useServers } from '../support/test-server.ts';

const server = useServers();
const encoders = useEncoders();

const embedded = z.object({
  data: z.array(z.object({ index: z.int(), embedding: z.array(z.number()) })),
  usage: z.object({ prompt_tokens: z.int() }),
});
const ofCohere = z.object({ embeddings: z.object({ float: z.array(z.array(z.number())) }) });
const scored = z.object({ data: z.array(z.object({ index: z.int(), score: z.number() })) });
const rankedDocuments = z.object({
  results: z.array(
    z.object({
      index: z.int(),
      relevance_score: z.number(),
      document: z.object({ text: z.string() }).optional(),
    }),
  ),
});
const labelled = z.array(z.object({ label: z.string(), score: z.number() }));

async function dual(name: DualName): Promise<Target> {
  return await server(servingOf(await encoders.dual('org/dual', name)));
}

async function ask<T>(
  target: Target,
  path: string,
  body: object,
  schema: z.ZodType<T>,
): Promise<T> {
  const response = await post(target, path, body);
  const json: unknown = await response.json();
  expect({ status: response.status, json }).toMatchObject({ status: 200 });
  return schema.parse(json);
}

async function urlsOf(name: DualName): Promise<string[]> {
  const { images } = await dualReference(name);
  const files = await Promise.all(images.map(dualImage));
  return files.map((file) => `data:image/png;base64,${file.toString('base64')}`);
}

const near = (rows: readonly (readonly number[])[], digits: number) =>
  rows.map((row) => row.map((value) => expect.closeTo(value, digits) as number));

describe.each(DUAL_MODELS)('%s', (name) => {
  it('embeds texts and images among each other', async () => {
    const target = await dual(name);
    const { ids, textVectors, imageVectors } = await dualReference(name);
    const [first = '', second = '', third = ''] = await urlsOf(name);
    const input = [
      { image: first },
      ids[0],
      { type: 'image_url', image_url: { url: second } },
      { text: 'a' },
      { image: third.slice(third.indexOf(',') + 1) },
    ];
    const { data, usage } = await ask(target, '/v1/embeddings', { input }, embedded);
    const [a = [], b = [], c = []] = imageVectors;
    const [ofIds = [], ofText = []] = textVectors;
    const expected = near([a, ofIds, b, ofText, c], 4);
    expect(data.map(({ embedding }) => embedding)).toEqual(expected);
    expect(usage.prompt_tokens).toBe(name === 'clip' ? 8 + 3 + 3 * 17 : 16 + 16 + 3 * 16);
    const messages = [{ role: 'user', content: [input[2]] }];
    const chat = await ask(target, '/v1/embeddings', { messages }, embedded);
    expect(chat.data.map(({ embedding }) => embedding)).toEqual(near([b], 4));
    const ofUrls = { input: [first, second], modality: 'image' };
    const infinity = await ask(target, '/v1/embeddings', ofUrls, embedded);
    expect(infinity.data.map(({ embedding }) => embedding)).toEqual(near([a, b], 4));
    const cohere = await ask(
      target,
      '/v2/embed',
      { images: [second], input_type: 'image' },
      ofCohere,
    );
    expect(cohere.embeddings.float).toEqual(near([b], 4));
  });

  it('ranks texts for an image, and images for a text', async () => {
    const target = await dual(name);
    const { textVectors, imageVectors, logits } = await dualReference(name);
    const [first = '', second = '', third = ''] = await urlsOf(name);
    const dot = (a: readonly number[] = [], b: readonly number[] = []) =>
      a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
    const text = 'A photo of a cat.';
    const ofImages = [0, 1, 2].map((at) => dot(imageVectors[at], textVectors[0]));
    const ofFirst = [...ofImages, dot(textVectors[1], textVectors[0])];
    const documents = [{ image: first }, { image: second }, { image: third }, 'a'];
    for (const path of ['/v1/rerank', '/v2/rerank', '/rerank']) {
      const body = { query: text, documents, return_documents: true };
      const { results } = await ask(target, path, body, rankedDocuments);
      const given = results.toSorted((a, b) => a.index - b.index);
      expect([given.map((each) => each.relevance_score)]).toEqual(near([ofFirst], 4));
      expect(given.map(({ document }) => document?.text)).toEqual([
        undefined,
        undefined,
        undefined,
        'a',
      ]);
      const scores = results.map((each) => each.relevance_score);
      expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    }
    const query = { content: [{ type: 'image_url', image_url: { url: second } }] };
    const vllm = { query, documents: { content: [{ type: 'text', text }] } };
    const { results } = await ask(target, '/v1/rerank', vllm, rankedDocuments);
    expect([results.map((each) => each.relevance_score)]).toEqual(near([[ofImages[1] ?? 0]], 4));
    const tei = { query: { image: second }, texts: [text], raw_scores: true };
    const [raw] = await ask(target, '/rerank', tei, z.array(z.object({ score: z.number() })));
    expect(raw?.score).toBeCloseTo(logits[1]?.[0] ?? NaN, 2);
  });

  it('scores texts for an image, and images for a text', async () => {
    const target = await dual(name);
    const { textVectors, imageVectors } = await dualReference(name);
    const texts = ['A photo of a cat.', 'a'];
    const urls = await urlsOf(name);
    const contents = urls.map((url) => ({ content: [{ type: 'image_url', image_url: { url } }] }));
    const cosine = (image: number, text: number) =>
      (imageVectors[image] ?? []).reduce(
        (sum, value, at) => sum + value * (textVectors[text]?.[at] ?? 0),
        0,
      );
    const toTexts = { data_1: contents[1], data_2: texts };
    const { data } = await ask(target, '/v1/score', toTexts, scored);
    expect(data.map(({ score }) => score)).toEqual(near([[cosine(1, 0), cosine(1, 1)]], 4)[0]);
    const toImages = { queries: texts[0], documents: contents };
    const images = await ask(target, '/score', toImages, scored);
    const places = [...urls.keys()];
    expect(images.data.map(({ score }) => score)).toEqual(
      near([places.map((at) => cosine(at, 0))], 4)[0],
    );
    const pairs = { queries: texts, documents: contents.slice(0, 2) };
    const each = await ask(target, '/v1/score', pairs, scored);
    expect(each.data.map(({ score }) => score)).toEqual(near([[cosine(0, 0), cosine(1, 1)]], 4)[0]);
  });

  it('gives an image the labels of a request, as the pipeline of Transformers does', async () => {
    const target = await dual(name);
    const { texts, probs, images } = await dualReference(name);
    const labels = texts.slice(0, 2);
    const rows = labels.map((label) => texts.indexOf(label));
    const file = (await dualImage(images[0] ?? '')).toString('base64');
    const parameters = { candidate_labels: labels, hypothesis_template: '{}' };
    const body = { inputs: file, parameters };
    const told = await ask(target, '/models/org/dual', body, labelled);
    const given = rows.map((row) => probs[0]?.[row] ?? 0);
    // CLIP's scores of some labels add up to 1.
    const sum = name === 'clip' ? given.reduce((total, score) => total + score, 0) : 1;
    const scores = labels.map((label) => told.find((each) => each.label === label)?.score);
    expect([scores]).toEqual(near([given.map((score) => score / sum)], 4));
    await errorOf(await post(target, '/models/org/dual', { ...body, inputs: [file] }), 400);
    await errorOf(await post(target, '/models/org/dual', { ...body, inputs: 'a text' }), 400);
  });
});

test('what is no image, too many, too large or not allowed is refused by its field', async () => {
  const target = await dual('clip');
  const [url = ''] = await urlsOf('clip');
  const half = (await dualImage('wide.png')).subarray(0, 200).toString('base64');
  for (const [input, param, code] of [
    [{ image: 'https://example.com/cat.png' }, 'input.image', 'invalid_image'],
    [{ image: 'file:///etc/passwd' }, 'input.image', 'invalid_image'],
    [['a', { image: 'data:text/html;base64,AAAA' }], 'input.1.image', 'invalid_image'],
    [[{ image: pngBomb(60_000).toString('base64') }], 'input.0.image', 'invalid_image'],
    [[{ image: half }], null, 'invalid_image'],
    [
      Array.from({ length: LIMITS.promptImages + 1 }, () => ({ image: url })),
      `input.${LIMITS.promptImages}.image`,
      'too_many_images',
    ],
  ] as const) {
    const error = await errorOf(await post(target, '/v1/embeddings', { input }), 400);
    expect(error).toMatchObject({ param, code });
  }
  const long = { input: [{ image: url }, 'a', 'cat '.repeat(40)] };
  await errorOf(await post(target, '/v1/embeddings', long), 400);
  const shorter = { input: [{ image: url }], dimensions: 5 };
  await errorOf(await post(target, '/v1/embeddings', shorter), 400);
});

test('the example finds images by words, with the client of OpenAI', async () => {
  const target = await dual('clip');
  const { texts, images, textVectors, imageVectors } = await dualReference('clip');
  const files = images.map((name) => `test/fixtures/vision/images/${name}`);
  const env = { ...process.env, CHAIRLIFT_URL: target.url, CHAIRLIFT_CLIENT_MODEL: 'org/dual' };
  const words = ['examples/image-search.mjs', texts[0] ?? '', ...files];
  const { stdout } = await promisify(execFile)(process.execPath, words, { env });
  const scores = imageVectors.map((vector) =>
    vector.reduce((sum, value, at) => sum + value * (textVectors[0]?.[at] ?? 0), 0),
  );
  const ranked = [...scores.keys()].toSorted((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0));
  const lines = ranked.map((at) => `${scores[at]?.toFixed(3)}  ${files[at]}`);
  expect(stdout.trim().split('\n')).toEqual(lines);
});

test('a model that takes texts alone refuses images', async () => {
  const target = await server(servingOf(await encoders.encoder('bert', 'bert')));
  const image = { image: 'AAAA' };
  for (const [path, body] of [
    ['/v1/embeddings', { input: ['a', image] }],
    ['/v1/embeddings', { messages: [{ role: 'user', content: 'a' }] }],
    ['/v1/score', { queries: 'a', documents: [image] }],
    ['/v1/rerank', { query: 'a', documents: [image] }],
    ['/v1/rerank', { query: image, documents: ['a'] }],
    ['/rerank', { query: 'a', texts: [image] }],
  ] as const) {
    const error = await errorOf(await post(target, path, body), 400);
    expect(error).toMatchObject({ code: 'model_not_supported' });
  }
});
