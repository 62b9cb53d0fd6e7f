/** /v2/embed, as Cohere's clients call it. */
import { expect, test } from 'vitest';
import { encoderReference } from '../../encoder/support/encoders.ts';
import { cohereEmbedAnswer } from '../../../src/server/embeddings/cohere-embed.ts';
import { post } from '../support/client.ts';
import { servingOf } from '../support/serving-encoders.ts';
import { useEncoders } from '../support/stateless-models.ts';
import { useServers } from '../support/test-server.ts';

const server = useServers();
const encoders = useEncoders();

interface Embedded {
  readonly embeddings: Readonly<Record<string, readonly (readonly number[])[]>>;
  readonly meta: object;
}

function near(rows: readonly (readonly number[])[]): unknown[] {
  return rows.map((row) => row.map((value) => expect.closeTo(value, 4)));
}

test('gives the vectors of sentence-transformers, with the prompt of what the texts are', async () => {
  const { texts, vectors, prompt, ids } = await encoderReference('bert');
  const target = await server(servingOf(await encoders.encoder('m', 'bert')));
  const ask = async (body: object) => {
    const response = await post(target, '/v2/embed', { model: 'm', texts, ...body });
    expect(response.status).toBe(200);
    return (await response.json()) as Embedded;
  };
  const plain = await ask({ input_type: 'search_document', embedding_types: ['float'] });
  expect(plain.embeddings).toEqual({ float: near(vectors) });
  expect(plain.meta).toEqual({
    api_version: { version: '2' },
    billed_units: { input_tokens: ids.flat().length },
  });
  expect((await ask({ input_type: 'search_query' })).embeddings['float']).toEqual(
    near(prompt?.vectors ?? []),
  );
});

test('writes numbers, base64 and bits', () => {
  const vector = Float32Array.of(1, -1, 0, 0.5, -2, 3, 4, -5, 6);
  const vectors = [vector];
  const types = ['float', 'base64', 'ubinary', 'binary'] as const;
  const pieces = [...cohereEmbedAnswer({ vectors, numTokens: 3 }, 'embed-1', types)];
  expect(JSON.parse(pieces.join(''))).toMatchObject({
    id: 'embed-1',
    embeddings: {
      float: [[1, -1, 0, 0.5, -2, 3, 4, -5, 6]],
      base64: [Buffer.from(vector.buffer).toString('base64')],
      // As numpy.packbits has it: 10010110 1.
      ubinary: [[150, 128]],
      binary: [[22, 0]],
    },
    response_type: 'embeddings_by_type',
  });
});

test.each([
  [{ texts: [] }, 'at least one text'],
  [{ texts: 'a' }, 'a list of at most 2048'],
  [{ texts: Array(2049).fill('a') }, 'a list of at most 2048'],
  [{ texts: ['a'], embedding_types: ['int8'] }, 'expected float, base64, ubinary, binary'],
  [{ texts: ['a'], embedding_types: Array(5).fill('float') }, 'at most 4'],
  [{ texts: ['a'], truncate: 'START' }, 'expected NONE or END'],
  [{}, '`texts` is required'],
  [{ images: [] }, 'at least one image'],
  [{ images: ['AAAA'] }, '`images.0`: the model `m` takes texts only'],
  [{ texts: ['a'], images: ['data:'] }, 'expected these or `texts`, not both'],
  [{ texts: ['a'], inputs: [] }, '`inputs` is not supported'],
  [{ texts: ['a'], input_type: 'audio' }, 'input_type'],
  [{ texts: ['the cat '.repeat(99)], truncate: 'NONE' }, 'tokens'],
])("%j is refused in Cohere's form", async (body, message) => {
  const target = await server(servingOf(await encoders.encoder('m', 'bert')));
  const response = await post(target, '/v2/embed', body);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ message: expect.stringContaining(message) });
});
