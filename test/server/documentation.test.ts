import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createApp } from '../../src/server/app.ts';
import { documentedBodies } from '../../src/server/openapi/documented-bodies.ts';
import { OPERATIONS } from '../../src/server/openapi/operations.ts';
import { errorOf, post } from './support/client.ts';
import { MODEL, tokensOf, useServers } from './support/test-server.ts';

const server = useServers();

const document = z.looseObject({
  openapi: z.string(),
  paths: z.record(
    z.string(),
    z.record(z.string(), z.looseObject({ requestBody: z.unknown().optional() })),
  ),
});

test('every route is documented, and nothing else', async () => {
  const { context } = await server();
  const served = createApp(context)
    .routes.filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)(\{.+?\})?/g, '{$1}')}`);
  const documented = OPERATIONS.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
  expect(documented.toSorted()).toEqual([...new Set(served)].toSorted());
});

test('/openapi.json is open without a key, and describes bodies', async () => {
  const { url } = await server({ config: { apiKeys: ['key'] } });
  const response = await fetch(`${url}/openapi.json`);
  expect(response.headers.get('content-type')).toContain('application/json');
  const { openapi, paths } = document.parse(await response.json());
  expect(openapi).toMatch(/^3\.1\./);
  expect(JSON.stringify(paths['/v1/chat/completions']?.['post']?.requestBody)).toMatch(
    /"temperature":\{"anyOf":\[\{"type":"number","minimum":0,"maximum":2\},\{"type":"null"\}\],"description":"Randomness/,
  );
});

/** Of examples that are for another model: its tokens, or encoders, which end-to-end tests have. */
const STATUS_OF_OTHERS: Readonly<Record<string, number>> = {
  '/detokenize': 400,
  Embeddings: 404,
  '/api/embed': 404,
  '/api/embeddings': 404,
};

test('every example is taken', async () => {
  const target = await server();
  const asked = OPERATIONS.filter(({ example }) => example !== undefined);
  expect(asked.length).toBeGreaterThan(5);
  for (const { path, example = {}, body, tag } of asked) {
    expect(body?.safeParse(example).success).toBe(true);
    const response = await post(target, path, example);
    const status = STATUS_OF_OTHERS[path] ?? STATUS_OF_OTHERS[tag] ?? 200;
    expect({ path, status: response.status }).toEqual({ path, status });
    await response.text();
  }
});

test('bodies list what is parsed by hand too', () => {
  expect(Object.keys(documentedBodies.chatCompletions.shape)).toContain('messages');
  expect(
    documentedBodies.responses.safeParse({ input: [{ role: 'user', content: 'Hi' }] }),
  ).toEqual(expect.objectContaining({ success: true }));
});

test('/docs is one page, without scripts where no page was built, that names the model', async () => {
  const { url } = await server();
  const response = await fetch(`${url}/docs`);
  expect(response.headers.get('content-type')).toContain('text/html');
  const policy = response.headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("script-src 'self'");
  expect(policy).not.toContain('unsafe');
  const text = await response.text();
  expect(text).toContain(MODEL);
  for (const { path } of OPERATIONS) expect(text).toContain(path);
  expect(text).not.toMatch(/<script|src=|https:|style="/);
  // Its own style passes its policy, to the letter.
  const style = /<style>([^]*?)<\/style>/.exec(text)?.[1] ?? '';
  const hash = createHash('sha256').update(style).digest('base64');
  expect(policy).toContain(`'sha256-${hash}'`);
  expect(text).toContain(`curl ${url}/v1/responses`);
  // The page is made once; each reader finds the name that they know the server by.
  const named = url.replace('127.0.0.1', 'localhost');
  const again = await (await fetch(`${named}/docs`)).text();
  expect(again).toBe(text.replaceAll(url, named));
});

test('/docs has one script where a page was built: that of its forms', async () => {
  const file = {
    type: 'text/javascript',
    bytes: new Uint8Array(),
    gzip: new Uint8Array(),
    etag: '""',
  };
  const page = { index: file, files: new Map([['docs.js', file]]) };
  const { url } = await server({ page });
  const text = await (await fetch(`${url}/docs`)).text();
  expect(text.match(/<script[^>]*>/g)).toEqual(['<script type="module" src="/ui/docs.js">']);
  for (const { method, path } of OPERATIONS) {
    expect(text).toContain(`data-method="${method}" data-path="${path}"`);
  }
});

test.each(['/v1/chat/completions/render', '/apply-template'])(
  '%s gives the prompt and its tokens, and runs nothing',
  async (path) => {
    const target = await server();
    const response = await post(target, path, { messages: [{ role: 'user', content: 'Hi' }] });
    const prompt = 'user: Hi\nassistant: ';
    expect(await response.json()).toEqual({
      prompt,
      token_ids: tokensOf(prompt),
      features: {
        mm_hashes: { image: [] },
        mm_placeholders: { image: [] },
        kwargs_data: { image: [] },
      },
      count: prompt.length,
      max_model_len: 256,
    });
    expect(target.engine.requests).toHaveLength(0);
  },
);

test('/models is open, /v1/models is not', async () => {
  const { url } = await server({ config: { apiKeys: ['key'] } });
  expect((await fetch(`${url}/models`)).status).toBe(200);
  await errorOf(await fetch(`${url}/v1/models`), 401);
});
