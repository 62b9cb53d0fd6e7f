/** /embed_sparse, held against sentence-transformers' SparseEncoder. */
import { describe, expect, it, onTestFinished, test, vi } from 'vitest';
import { LIMITS } from '../../../src/limits.ts';
import { encoderReference } from '../../encoder/support/encoders.ts';
import { errorOf, post } from '../support/client.ts';
import { servingOf } from '../support/serving-encoders.ts';
import { useEncoders } from '../support/stateless-models.ts';
import { useServers } from '../support/test-server.ts';

const server = useServers();
const encoders = useEncoders();

/** Tokens of the model. */
const VOCABULARY = 74;

type Weights = readonly { readonly index: number; readonly value: number }[];

async function sparse() {
  return await server(servingOf(await encoders.encoder('m', 'bert-splade')));
}

function weightsOf(row: readonly number[]): unknown[] {
  const words = row.map((value, index) => ({ index, value })).filter(({ value }) => value > 0);
  return words.map(({ index, value }) => ({ index, value: expect.closeTo(value, 4) }));
}

describe('/embed_sparse', () => {
  it('weighs words as sentence-transformers does, whatever the texts beside them', async () => {
    const { ids, vectors } = await encoderReference('bert-splade');
    const target = await sparse();
    const together = await post(target, '/embed_sparse', { inputs: ids });
    expect(together.status).toBe(200);
    expect((await together.json()) as Weights[]).toEqual(vectors.map(weightsOf));
    for (const [row, each] of ids.entries()) {
      const alone = await post(target, '/embed_sparse', { inputs: [each] });
      expect((await alone.json()) as Weights[]).toEqual([weightsOf(vectors[row] ?? [])]);
    }
  });

  it('cuts texts that are too long if it may', async () => {
    const { texts, vectors } = await encoderReference('bert-splade');
    const target = await sparse();
    const body = { inputs: texts.slice(-1) };
    expect((await post(target, '/embed_sparse', body)).status).toBe(400);
    const cut = await post(target, '/embed_sparse', { ...body, truncate: true });
    expect(await cut.json()).toEqual([weightsOf(vectors.at(-1) ?? [])]);
  });

  it('refuses what would be too large before it tokenizes', async () => {
    const target = await server(servingOf(await encoders.encoder('m', 'bert-splade')));
    const { ids } = await encoderReference('bert-splade');
    vi.spyOn(LIMITS, 'tensorOutputBytes', 'get').mockReturnValue(4 * VOCABULARY);
    onTestFinished(() => void vi.restoreAllMocks());
    const two = await post(target, '/embed_sparse', { inputs: ids.slice(0, 2) });
    expect((await errorOf(two, 400)).message).toContain('send fewer texts');
    expect((await post(target, '/embed_sparse', { inputs: ids.slice(0, 1) })).status).toBe(200);
  });
});

test('models do what they are for alone', async () => {
  const target = await server(
    servingOf(
      await encoders.encoder('sparse', 'bert-splade'),
      await encoders.encoder('dense', 'bert'),
      await encoders.encoder('labels', 'bert-classifier'),
    ),
  );
  const ask = async (model: string, path: string, body: object) => {
    const response = await post(target, path, { model, ...body });
    return (await errorOf(response, 400)).message;
  };
  expect(await ask('dense', '/embed_sparse', { inputs: 'a' })).toContain('no weights of words');
  expect(await ask('labels', '/embed_sparse', { inputs: 'a' })).toContain('no weights of words');
  expect(await ask('sparse', '/v1/embeddings', { input: 'a' })).toContain('makes no embeddings');
  expect(await ask('sparse', '/embed_all', { inputs: 'a' })).toContain('makes no embeddings');
  expect(await ask('sparse', '/classify', { input: 'a' })).toContain('no labels');
  expect(await ask('sparse', '/v1/score', { queries: 'a', documents: 'a' })).toContain('no pairs');
});
