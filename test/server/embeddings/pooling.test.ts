/** /pooling and /embed_all, held against Transformers' last hidden states. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { encoderFolder, encoderReference } from '../../encoder/support/encoders.ts';
import { TextModel } from '../../../src/front/embedding/text-model.ts';
import { LIMITS } from '../../../src/limits.ts';
import { matrixJson, poolingAnswer } from '../../../src/server/embeddings/pooling.ts';
import { errorOf, post } from '../support/client.ts';
import { servingOf } from '../support/serving-encoders.ts';
import { useEncoders } from '../support/stateless-models.ts';
import { useServers } from '../support/test-server.ts';

const server = useServers();
const encoders = useEncoders();

const matrices = z.array(z.array(z.array(z.number())));
const pooled = z.object({
  data: z.array(z.object({ data: z.unknown() })),
  usage: z.looseObject({}),
});

async function tokensOf(name: string): Promise<number[][][]> {
  return matrices.parse(
    JSON.parse(await readFile(join(encoderFolder(name), 'tokens.json'), 'utf8')),
  );
}

function near(rows: readonly (readonly number[])[]): unknown[] {
  return rows.map((row) => row.map((value) => expect.closeTo(value, 4)));
}

function ofLengthOne(row: readonly number[]): number[] {
  const length = Math.hypot(...row);
  return row.map((value) => value / length);
}

/** `bert` is an export, the other is built from weights. */
describe.each(['bert', 'xlm-roberta'])('%s', (name) => {
  it('gives the vectors of tokens, whatever they are computed beside', async () => {
    const { ids } = await encoderReference(name);
    const expected = await tokensOf(name);
    const target = await server(servingOf(await encoders.encoder('m', name)));
    const all = await post(target, '/embed_all', { inputs: ids });
    expect(await all.json()).toEqual(expected.map(near));
    const asked = await Promise.all([
      post(target, '/pooling', { input: ids, use_activation: false }),
      post(target, '/pooling', { input: ids }),
      post(target, '/v1/embeddings', { input: ids }),
    ]);
    const [raw, unit] = await Promise.all(
      asked.slice(0, 2).map(async (each) => pooled.parse(await each.json())),
    );
    expect(raw?.data.map(({ data }) => data)).toEqual(expected.map(near));
    expect(unit?.data.map(({ data }) => data)).toEqual(
      expected.map((rows) => near(rows.map(ofLengthOne))),
    );
    const numTokens = ids.flat().length;
    expect(raw?.usage).toEqual({ prompt_tokens: numTokens, total_tokens: numTokens });
    expect(asked[2]?.status).toBe(200);
  });
});

test('/pooling gives vectors of texts and logits of labels too', async () => {
  const [embedder, classifier] = ['bert', 'bert-classifier'] as const;
  const target = await server(
    servingOf(await encoders.encoder('e', embedder), await encoders.encoder('c', classifier)),
  );
  const ask = async (body: object) =>
    pooled.parse(await (await post(target, '/pooling', body)).json()).data.map(({ data }) => data);
  const vectors = await encoderReference(embedder);
  expect(await ask({ model: 'e', input: vectors.ids, task: 'embed' })).toEqual(
    near(vectors.vectors),
  );
  const [first] = await ask({
    model: 'e',
    input: vectors.ids,
    task: 'embed',
    encoding_format: 'base64',
  });
  expect(Buffer.from(String(first), 'base64')).toHaveLength(4 * 16);
  const labels = await encoderReference(classifier);
  // Without a task.
  expect(await ask({ model: 'c', input: labels.ids })).toEqual(near(labels.probs.slice(0, -1)));
  const raw = { model: 'c', input: labels.ids, use_activation: false };
  expect(await ask(raw)).toEqual(near(labels.vectors.slice(0, -1)));
  for (const body of [
    { model: 'c', input: 'a', task: 'token_embed' },
    { model: 'e', input: 'a', task: 'classify' },
    { model: 'e', input: 'a', encoding_format: 'base64' },
    { model: 'e', input: 'a', task: 'plugin' },
  ]) {
    await errorOf(await post(target, '/pooling', body), 400);
  }
});

test('a model that generates text gives vectors of texts, and none of tokens', async () => {
  const target = await server();
  expect((await post(target, '/pooling', { input: 'a' })).status).toBe(200);
  const error = await errorOf(await post(target, '/embed_all', { inputs: 'a' }), 400);
  expect(error.message).toContain('no vectors of tokens');
});

test('more than an answer may have is refused before it is computed', async () => {
  const { encoder } = await encoders.encoder('m', 'bert');
  if (!(encoder instanceof TextModel)) throw new Error('no text model');
  const caller = { client: '', signal: new AbortController().signal };
  vi.spyOn(LIMITS, 'tensorOutputBytes', 'get').mockReturnValue(4 * 16 * 10);
  onTestFinished(() => void vi.restoreAllMocks());
  const tokens = (count: number) => [new Int32Array(count).fill(5)];
  const { width } = await encoder.embedTokens(tokens(10), {}, caller);
  expect(width).toBe(16);
  const before = encoder.stats;
  await expect(encoder.embedTokens(tokens(11), {}, caller)).rejects.toThrow(
    'the answer would have 704 bytes of numbers; 640 are the most',
  );
  expect(encoder.stats).toEqual(before);
});

test('large matrices are written in pieces', () => {
  const matrix = new Float32Array(2 ** 16).fill(0.125);
  const head = { id: 'pool-1', model: 'm' };
  const written = [matrix, matrix].map((each) => matrixJson(each, 64, false));
  const pieces = [...poolingAnswer(head, written, 3)];
  expect(pieces.length).toBeGreaterThan(15);
  expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(50_000);
  const { data } = pooled.parse(JSON.parse(pieces.join('')));
  expect(data[1]).toMatchObject({ data: { length: 1024 } });
});
