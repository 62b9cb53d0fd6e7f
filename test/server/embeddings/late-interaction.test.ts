/** Reranking and vectors of tokens by a model of late interaction, held against PyLate. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { errorOf, post } from '../support/client.ts';
import { servingOf } from '../support/serving-encoders.ts';
import { useEncoders } from '../support/stateless-models.ts';
import { useServers } from '../support/test-server.ts';

const server = useServers();
const encoders = useEncoders();
const folder = fileURLToPath(new URL('../../fixtures/late-interaction/stanford', import.meta.url));

async function late() {
  const runtime = await encoders.encoderIn('m', () => Promise.resolve(folder));
  const text = await readFile(`${folder}/reference.json`, 'utf8');
  const matrix = z.array(z.array(z.number()));
  const strings = z.array(z.string());
  const shape = { queries: strings, documents: strings, scores: matrix };
  const schema = z.object({ ...shape, documentVectors: z.array(matrix) });
  return { target: await server(servingOf(runtime)), ...schema.parse(JSON.parse(text)) };
}

test('/v1/rerank and /v1/score have the sums of the largest products', async () => {
  const { target, queries, documents, scores } = await late();
  const [query = ''] = queries;
  const [wanted = []] = scores;
  const body = { query, documents, top_n: 2 };
  const answer = await (await post(target, '/v1/rerank', body)).json();
  const places = [...wanted.keys()].sort((a, b) => (wanted[b] ?? 0) - (wanted[a] ?? 0));
  expect(answer).toMatchObject({
    results: places.slice(0, 2).map((index) => ({
      index,
      relevance_score: expect.closeTo(wanted[index] ?? 0, 3),
    })),
  });
  const pairs = { data_1: queries, data_2: documents.slice(0, queries.length) };
  expect(await (await post(target, '/v1/score', pairs)).json()).toMatchObject({
    data: queries.map((_query, at) => ({ score: expect.closeTo(scores[at]?.[at] ?? 0, 3) })),
  });
});

test('/pooling and /embed_all give the vectors of documents, or of queries', async () => {
  const { target, documents, documentVectors } = await late();
  const [input = ''] = documents;
  const near = documentVectors[0]?.map((row) => row.map((each) => expect.closeTo(each, 3)));
  expect(await (await post(target, '/pooling', { input })).json()).toMatchObject({
    data: [{ data: near }],
  });
  const all = await post(target, '/embed_all', { inputs: [input] });
  expect(await all.json()).toEqual([near]);
  const asQuery = await post(target, '/embed_all', { inputs: [input], prompt_name: 'query' });
  expect(await asQuery.json()).toEqual([expect.objectContaining({ length: 14 })]);
});

test('embeddings are refused, and named are what it does', async () => {
  const { target } = await late();
  const error = await errorOf(await post(target, '/v1/embeddings', { input: 'a' }), 400);
  expect(error.message).toContain('gives vectors of tokens and makes no embeddings');
  expect(await (await fetch(`${target.url}/v1/models`)).json()).toMatchObject({
    data: [{ capabilities: ['token_embed', 'rerank', 'score'] }],
  });
});
