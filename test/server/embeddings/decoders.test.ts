/** Embeddings and scores by a model that generates text, through every API that has them. */
import { describe, expect, it } from 'vitest';
import { fakeReading } from '../../support/fake-engine.ts';
import { post, type Target } from '../support/client.ts';
import { MODEL, tokensOf, useServers } from '../support/test-server.ts';

const server = useServers();

async function ask<T>(target: Target, path: string, body: object): Promise<T> {
  const response = await post(target, path, body);
  const json = (await response.json()) as T;
  expect({ status: response.status, json }).toMatchObject({ status: 200 });
  return json;
}

/** The normalized hidden state that the fake engine tells after a text. */
function vectorOf(text: string): number[] {
  const state = fakeReading(Int32Array.from(tokensOf(text)), { kind: 'hidden' });
  return Array.from(state, (value) => value / Math.hypot(...state));
}

function expectVectors(made: readonly (readonly number[])[], texts: readonly string[]): void {
  expect(made).toHaveLength(texts.length);
  for (const [at, text] of texts.entries()) {
    for (const [place, value] of vectorOf(text).entries()) {
      expect(made[at]?.[place]).toBeCloseTo(value, 5);
    }
  }
}

const texts = ['Hello', 'A cat', 'Hi'];

describe('a model that generates text', () => {
  it('makes embeddings for clients of OpenAI, TEI and Ollama', async () => {
    const target = await server();
    const input = texts;
    const { data, usage } = await ask<{
      data: { embedding: number[] }[];
      usage: { prompt_tokens: number };
    }>(target, '/v1/embeddings', { input });
    expectVectors(
      data.map(({ embedding }) => embedding),
      texts,
    );
    expect(usage.prompt_tokens).toBe(texts.join('').length);
    expectVectors(await ask(target, '/embed', { inputs: texts }), texts);
    const { embeddings } = await ask<{ embeddings: number[][] }>(target, '/api/embed', {
      model: MODEL,
      input,
    });
    expectVectors(embeddings, texts);
    expect(target.engine.requests[0]).toMatchObject({ maxTokens: 0, readout: { kind: 'hidden' } });
  });

  it('computes nothing for clients that want stored answers alone', async () => {
    const target = await server();
    const only = { headers: { 'cache-control': 'only-if-cached' } };
    for (const [path, body] of [
      ['/v1/embeddings', { input: texts }],
      ['/embed', { inputs: texts }],
      ['/api/embed', { model: MODEL, input: texts }],
      ['/api/embeddings', { model: MODEL, prompt: 'Hi' }],
      ['/v1/rerank', { query: 'Who?', documents: texts }],
      ['/v1/score', { queries: 'Who?', documents: texts }],
    ] as const) {
      expect({ path, status: (await post(target, path, body, only)).status }).toEqual({
        path,
        status: 504,
      });
    }
    expect(target.engine.requests).toEqual([]);
  });

  it('ranks documents, each after the same query', async () => {
    const target = await server({ maxModelLen: 1024 });
    const { results } = await ask<{ results: { index: number; relevance_score: number }[] }>(
      target,
      '/v1/rerank',
      { query: 'Who?', documents: texts },
    );
    const { data } = await ask<{ data: { score: number }[] }>(target, '/v1/score', {
      queries: 'Who?',
      documents: texts,
    });
    expect(new Set(results.map(({ index }) => index))).toEqual(new Set([0, 1, 2]));
    for (const { index, relevance_score: score } of results) {
      expect(data[index]?.score).toBe(score);
    }
    const prompts = target.engine.requests.slice(0, 3).map(({ promptTokenIds }) => promptTokenIds);
    const [first, second] = prompts;
    expect(first?.subarray(0, 250)).toEqual(second?.subarray(0, 250));
    expect(target.engine.requests[0]?.readout?.kind).toBe('logits');
  });

  it('gives clients with keys prefixes of their own, and takes their tokens from their rate', async () => {
    const target = await server({
      config: { apiKeys: ['k1', 'k2'] },
      rates: { tokens: 20 },
    });
    const body = { input: 'x'.repeat(15) };
    const key = (name: string) => ({ headers: { authorization: `Bearer ${name}` } });
    const first = await post(target, '/v1/embeddings', body, key('k1'));
    expect(first.status).toBe(200);
    await first.arrayBuffer();
    const second = await post(target, '/v1/embeddings', { input: 'x'.repeat(25) }, key('k1'));
    expect(second.status).toBe(429);
    await second.arrayBuffer();
    const other = await post(target, '/v1/embeddings', body, key('k2'));
    expect(other.status).toBe(200);
    await other.arrayBuffer();
    const salts = target.engine.requests.map(({ cacheSalt }) => cacheSalt);
    expect(new Set(salts).size).toBe(2);
    expect(salts).not.toContain('');
  });

  it('tells errors of /v2/rerank in the form of Cohere', async () => {
    const response = await post(await server(), '/v2/rerank', { query: 'Who?', documents: [] });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      id: response.headers.get('x-request-id'),
      message: '`documents`: expected at least one document.',
    });
  });

  it('refuses what it cannot do in the words of the API', async () => {
    const target = await server();
    const response = await post(target, '/v1/embeddings', { input: 'Hi', dimensions: 2 });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { message: "The model's embeddings have 4 dimensions; fewer are not supported." },
    });
    const long = await post(target, '/v1/embeddings', { input: 'x'.repeat(1000) });
    expect(await long.json()).toMatchObject({ error: { code: 'context_length_exceeded' } });
  });
});
