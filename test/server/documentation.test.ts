import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { createApp } from '../../src/server/app.ts';
import { MODEL_PATTERNS } from '../../src/server/kserve/model-routes.ts';
import { REPOSITORY_PATTERNS } from '../../src/server/kserve/routes.ts';
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

/** The page as it is for those who know the server by another name. */
async function textFor(url: string, host: string): Promise<string> {
  const asking = request(`${url}/docs`, { headers: { host } }).end();
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  return text(answer);
}

test('every route is documented, and nothing else', async () => {
  const { context } = await server();
  // Those whose paths are split by hand say themselves what their wildcards stand for.
  const isSplit = (path: string) => /^\/v2\/.*\*$/.test(path);
  const routes = createApp(context).routes.filter(({ path }) => !isSplit(path));
  const served = [...routes, ...MODEL_PATTERNS, ...REPOSITORY_PATTERNS]
    .filter(({ method }) => method !== 'ALL')
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
  const page = await response.text();
  expect(page).toContain(MODEL);
  for (const { path } of OPERATIONS) expect(page).toContain(path);
  expect(page).not.toMatch(/<script|src=|https:|style="/);
  // Its own style passes its policy, to the letter.
  const style = /<style>([^]*?)<\/style>/.exec(page)?.[1] ?? '';
  const hash = createHash('sha256').update(style).digest('base64');
  expect(policy).toContain(`'sha256-${hash}'`);
  expect(page).toContain(`curl ${url}/v1/responses`);
  // The page is made once; each reader finds the name that they know the server by.
  const named = url.replace('127.0.0.1', 'localhost');
  const again = await (await fetch(`${named}/docs`)).text();
  expect(again).toBe(page.replaceAll(url, named));
});

test('/docs and /openapi.json are compressed for those who take it', async () => {
  const { url } = await server();
  for (const path of ['/docs', '/openapi.json']) {
    const plain = await fetch(url + path, { headers: { 'accept-encoding': 'identity' } });
    expect(plain.headers.get('content-encoding')).toBe(null);
    const small = await fetch(url + path, { headers: { 'accept-encoding': 'gzip' } });
    expect(small.headers.get('content-encoding')).toBe('gzip');
    expect(small.headers.get('vary')).toContain('accept-encoding');
    expect(Number(small.headers.get('content-length') ?? 0)).toBeLessThan(60_000);
    expect(await small.text()).toBe(await plain.text());
  }
  // By however many names it is asked for, the page is the same, and few of them are kept.
  for (let index = 0; index < 20; index++) {
    const host = `name-${index}.localhost`;
    expect(await textFor(url, host)).toContain(`curl http://${host}/v1/`);
  }
});

test('/docs has scripts where a page was built: its colors and its forms, and a way to it', async () => {
  const file = {
    type: 'text/javascript',
    bytes: new Uint8Array(),
    gzip: new Uint8Array(),
    etag: '""',
  };
  const page = { index: file, files: new Map([['docs.js', file]]) };
  const { url } = await server({ page });
  const sent = await (await fetch(`${url}/docs`)).text();
  expect(sent.match(/<script[^>]*>/g)).toEqual([
    '<script src="/ui/theme.js">',
    '<script type="module" src="/ui/docs.js">',
  ]);
  expect(sent).toContain('<a class="back" href="/">');
  expect(sent).toContain('<link rel="icon" href="/ui/favicon.svg"');
  expect(sent.match(/<pre(?! tabindex)/g)).toBe(null);
  for (const { method, path } of OPERATIONS) {
    expect(sent).toContain(`data-method="${method}" data-path="${path}"`);
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
