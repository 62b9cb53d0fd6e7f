/** Tiny encoders next to a model that generates text, by a real server and the official client. */
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tableGraph } from '../server/support/stateless-models.ts';
import { post } from '../support/http-client.ts';
import { childrenOf, killNow, until } from '../support/processes.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
let folder: string;
let server: ServerProcess;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'encoders-'));
  for (const name of ['bert', 'bert-reranker']) {
    await cp(join('test/fixtures/encoders', name), join(folder, name), { recursive: true });
  }
  await cp('models/foothill', join(folder, 'foothill'), { recursive: true });
  await mkdir(join(folder, 'table'));
  await writeFile(join(folder, 'table/model.onnx'), tableGraph());
  server = await startServer(['--model-repository', folder, '--models-max', '5'], cache.env);
});
afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
  await cache.remove();
});

async function ask<T>(path: string, body: object, status = 200): Promise<T> {
  const response = await post(`${server.url}${path}`, body);
  const json = (await response.json()) as T;
  expect([response.status, response.status === 200 ? '' : json]).toEqual([
    status,
    status === 200 ? '' : json,
  ]);
  return json;
}

const texts = ['hello world', 'a b c', 'hello'];

test('the banner has a call that the first model answers', () => {
  expect(server.output()).toMatch(/curl -N \S+\/v1\/embeddings .*\n.*"model": "bert"/);
});

test('the official client gets the same vectors in base64 as others do in numbers', async () => {
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const { data, usage } = await client.embeddings.create({ model: 'bert', input: texts });
  expect(data.map(({ index }) => index)).toEqual([0, 1, 2]);
  const tei = await ask<number[][]>('/embed', { model: 'bert', inputs: texts });
  expect(data.map(({ embedding }) => embedding)).toEqual(tei);
  expect(usage.prompt_tokens).toBeGreaterThan(texts.length);
  const alone = await client.embeddings.create({ model: 'bert', input: texts[1] ?? '' });
  for (const [at, value] of (alone.data[0]?.embedding ?? []).entries()) {
    expect(value).toBeCloseTo(tei[1]?.[at] ?? NaN, 5);
  }
});

test('requests of encoders have their stages too', async () => {
  const response = await post(`${server.url}/v1/embeddings`, { model: 'bert', input: texts });
  expect(response.headers.get('server-timing')).toMatch(
    /^receive;dur=[\d.]+, tokenize;dur=[\d.]+, queue;dur=[\d.]+, prefill;dur=[\d.]+, total;dur=[\d.]+$/,
  );
  await response.text();
  await until(async () => {
    const page = await (await fetch(`${server.url}/metrics`)).text();
    return /request_stage_seconds_count\{model_name="bert",stage="prefill"\} [1-9]/.test(page);
  }, 'the histogram');
});

test("Ollama's client gets them too", async () => {
  const ollama = new Ollama({ host: server.url });
  const { embeddings, prompt_eval_count: numTokens } = await ollama.embed({
    model: 'bert:latest',
    input: texts,
  });
  expect(embeddings).toEqual(await ask<number[][]>('/embed', { model: 'bert', inputs: texts }));
  expect(numTokens).toBeGreaterThan(texts.length);
  const { embedding } = await ollama.embeddings({ model: 'bert', prompt: texts[0] ?? '' });
  expect(embedding).toHaveLength(embeddings[0]?.length ?? -1);
});

test('reranking orders documents as their scores do', async () => {
  interface Reranked {
    readonly results: readonly { readonly index: number; readonly relevance_score: number }[];
  }
  const model = 'bert-reranker';
  const { results } = await ask<Reranked>('/v1/rerank', {
    model,
    query: 'hello',
    documents: texts,
  });
  const { data } = await ask<{ data: { index: number; score: number }[] }>('/v1/score', {
    model,
    queries: 'hello',
    documents: texts,
  });
  const scores = results.map(({ relevance_score: score }) => score);
  expect(scores).toEqual(scores.toSorted((a, b) => b - a));
  for (const { index, relevance_score: score } of results) {
    expect(data[index]?.score).toBeCloseTo(score, 6);
  }
  const body = { model, query: 'hello', texts, return_text: true };
  const tei = await ask<{ index: number; text: string }[]>('/rerank', body);
  expect(tei.map(({ index }) => index)).toEqual(results.map(({ index }) => index));
  expect(tei[0]?.text).toBe(texts[tei[0]?.index ?? -1]);
});

test('a model that generates text embeds and ranks, while it generates', async () => {
  const model = 'foothill';
  const generating = ask<{ choices: { text: string }[] }>('/v1/completions', {
    model,
    prompt: 'Once upon a time',
    max_tokens: 64,
    temperature: 0,
  });
  const client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });
  const { data } = await client.embeddings.create({ model, input: texts });
  const [first, second, third] = data.map(({ embedding }) => embedding);
  const dot = (a: number[] = [], b: number[] = []) =>
    a.reduce((sum, value, at) => sum + value * (b[at] ?? NaN), 0);
  expect(dot(first, first)).toBeCloseTo(1, 5);
  expect(dot(first, third)).toBeGreaterThan(dot(first, second));
  const { results } = await ask<{ results: { relevance_score: number }[] }>('/v1/rerank', {
    model,
    query: 'hello',
    documents: texts,
  });
  const scores = results.map(({ relevance_score: score }) => score);
  expect(scores).toEqual(scores.toSorted((a, b) => b - a));
  expect(new Set(scores).size).toBe(texts.length);
  const { choices } = await generating;
  const again = await ask('/v1/completions', {
    model,
    prompt: 'Once upon a time',
    max_tokens: 64,
    temperature: 0,
  });
  expect(again).toMatchObject({ choices: [{ text: choices[0]?.text }] });
});

test('tensors of texts and of numbers, by the Open Inference Protocol', async () => {
  const tensor = { name: 'text_input', datatype: 'BYTES', shape: [3], data: texts };
  const answer = await ask<{ outputs: { shape: number[]; data: number[] }[] }>(
    '/v2/models/bert/infer',
    { inputs: [tensor] },
  );
  const tei = await ask<number[][]>('/embed', { model: 'bert', inputs: texts });
  expect(answer.outputs[0]?.shape).toEqual([3, tei[0]?.length]);
  for (const [at, value] of tei.flat().entries()) {
    expect(answer.outputs[0]?.data[at]).toBeCloseTo(value, 6);
  }
  const index = { name: 'index', datatype: 'INT64', shape: [2], data: [3, 1] };
  expect(await ask('/v2/models/table/infer', { inputs: [index] })).toMatchObject({
    outputs: [{ name: 'row', datatype: 'FP32', shape: [2, 2], data: [6, 7, 2, 3] }],
  });
});

test.each([
  ['/v1/embeddings', { model: 'bert-reranker', input: 'Hi' }, 'scores pairs'],
  ['/v1/rerank', { model: 'bert', query: 'Hi', documents: ['Ho'] }, 'scores no pairs'],
  ['/v1/completions', { model: 'bert', prompt: 'Hi' }, 'encodes texts'],
  ['/v1/embeddings', { model: 'bert', input: [] }, 'input'],
  ['/v1/embeddings', { model: 'bert', input: 'x '.repeat(100_000) }, 'tokens'],
  ['/v1/embeddings', { model: 'bert', input: 'Hi', dimensions: 3 }, 'dimensions'],
])('what a model is not for is refused: %s %j', async (path, body, reason) => {
  const { error } = await ask<{ error: { message: string } }>(path, body, 400);
  expect(error.message).toContain(reason);
});

test('an encoder that is killed comes back, and no request is lost', async () => {
  const body = { model: 'bert', inputs: texts };
  const expected = await ask('/embed', body);
  const pids = childrenOf(server.child.pid);
  const running = Array.from({ length: 20 }, () => ask('/embed', body));
  for (const pid of pids) killNow(pid);
  for (const answer of await Promise.all(running)) expect(answer).toEqual(expected);
  await until(() => childrenOf(server.child.pid).length === pids.length, 'a new process');
});
