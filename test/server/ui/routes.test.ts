import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import {
  get,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from 'node:http';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { readPageFiles, type PageFiles } from '../../../src/server/ui/page-files.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { useServers } from '../support/test-server.ts';

const server = useServers();

const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
const SCRIPT = 'assets/index-1a2b.js';

const PICTURE = Buffer.from([0x89, 0x50, 0x4e, 0x47]);

const INDEX = '<!doctype html><link href="/ui/x.css"><a href="/other">';

async function pageFiles(rootPath = ''): Promise<PageFiles> {
  const folder = await temporaryDirectory();
  await mkdir(join(folder, 'assets'));
  await writeFile(join(folder, 'icon-192.png'), PICTURE);
  const texts = { 'index.html': INDEX, [SCRIPT]: 'go()', 'notes.txt': 'not served' };
  for (const [name, text] of Object.entries(texts)) {
    await writeFile(join(folder, name), text);
    await writeFile(join(folder, `${name}.gz`), gzipSync(text));
  }
  const files = await readPageFiles(folder, rootPath);
  if (files === null) throw new Error('no page');
  return files;
}

test('/ is the page for browsers, and JSON for others; neither needs a key', async () => {
  const { url } = await server({ page: await pageFiles(), config: { apiKeys: ['key'] } });
  const page = await fetch(url, { headers: BROWSER });
  expect(await page.text()).toBe(INDEX);
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(page.headers.get('vary')).toContain('accept');
  const other = await fetch(url);
  expect(await other.json()).toMatchObject({ status: 'Chairlift is running', version: '1.2.3' });
  expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
  expect((await fetch(`${url}/v1/models`)).status).toBe(401);
});

test('its policy forbids what is inline, from elsewhere or from strings', async () => {
  const { url } = await server({ page: await pageFiles() });
  const { headers } = await fetch(url, { headers: BROWSER });
  const policy = headers.get('content-security-policy') ?? '';
  for (const rule of [
    "default-src 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
  ]) {
    expect(policy).toContain(rule);
  }
  expect(policy).not.toMatch(/unsafe|\*|https?:/);
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('referrer-policy')).toBe('no-referrer');
});

test('icons are pictures, within the policy, and not compressed again', async () => {
  const { url } = await server({ page: await pageFiles() });
  const response = await fetch(`${url}/ui/icon-192.png`, {
    headers: { 'accept-encoding': 'gzip' },
  });
  expect(Buffer.from(await response.arrayBuffer())).toEqual(PICTURE);
  expect(response.headers.get('content-type')).toBe('image/png');
  expect(response.headers.get('content-encoding')).toBe(null);
  expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  const policy = (response.headers.get('content-security-policy') ?? '').split('; ');
  expect(policy).toContain("img-src 'self' data: blob:");
  expect(policy).toContain("manifest-src 'self'");
});

test.each([
  ['127.0.0.1:8000', {}, 'same-origin'],
  ['localhost', {}, 'same-origin'],
  ['[::1]:8000', {}, 'same-origin'],
  ['192.168.1.20:8000', {}, null],
  ['chat.example', {}, null],
  ['chat.example', { 'x-forwarded-proto': 'https' }, 'same-origin'],
])(
  'a page of %s, with %o, is told of openers only where browsers hear it',
  async (host, more, expected) => {
    const target = await server({ page: await pageFiles(), config: { allowedHosts: ['*'] } });
    for (const path of ['/', '/docs']) {
      const headers = await headersOf(`${target.url}${path}`, { ...BROWSER, host, ...more });
      expect(headers['content-security-policy']).toContain("default-src 'none'");
      expect({ path, opener: headers['cross-origin-opener-policy'] ?? null }).toEqual({
        path,
        opener: expected,
      });
    }
  },
);

/** Headers of an answer; `fetch` lets nobody choose the `Host`. */
async function headersOf(url: string, headers: OutgoingHttpHeaders): Promise<IncomingHttpHeaders> {
  const sent = get(url, { headers });
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  return response.headers;
}

test('files with a hash in their names are kept for ever, the page is asked for again', async () => {
  const { url } = await server({ page: await pageFiles() });
  const script = await fetch(`${url}/ui/${SCRIPT}`);
  expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  expect(await script.text()).toBe('go()');
  const page = await fetch(url, { headers: BROWSER });
  expect(page.headers.get('cache-control')).toBe('no-cache');
  const etag = page.headers.get('etag') ?? '';
  const again = await fetch(url, { headers: { ...BROWSER, 'if-none-match': etag } });
  expect({ status: again.status, text: await again.text() }).toEqual({ status: 304, text: '' });
});

test('they are compressed for those who take it', async () => {
  const page = await pageFiles();
  const { url } = await server({ page });
  const encodingFor = async (accepted: string) => {
    const response = await fetch(`${url}/ui/${SCRIPT}`, {
      headers: { 'accept-encoding': accepted },
    });
    expect(await response.text()).toBe('go()');
    return response.headers.get('content-encoding');
  };
  expect(await encodingFor('br, gzip')).toBe('gzip');
  expect(await encodingFor('identity')).toBe(null);
  expect(await encodingFor('gzip;q=0')).toBe(null);
  expect(gunzipSync(page.index.gzip ?? '').toString()).toBe(INDEX);
});

test('addresses of views are the page; files that are not there are not', async () => {
  const { url } = await server({ page: await pageFiles() });
  const view = await fetch(`${url}/ui/batch`);
  expect(await view.text()).toBe(INDEX);
  for (const path of ['/ui/assets/gone.js', '/ui/assets/..%2f..%2fpackage.json']) {
    expect({ path, status: (await fetch(url + path)).status }).toEqual({ path, status: 404 });
  }
  expect(await (await fetch(`${url}/ui/notes.txt`)).text()).toBe(INDEX);
});

test('without it there is none', async () => {
  const { url } = await server();
  expect(await (await fetch(url, { headers: BROWSER })).json()).toMatchObject({
    version: '1.2.3',
  });
  expect((await fetch(`${url}/ui/batch`)).status).toBe(404);
  expect(await readPageFiles(join(await temporaryDirectory(), 'none'))).toBe(null);
});

test('below a path, the page has its files there', async () => {
  const page = await pageFiles('/apps/llm');
  const { url } = await server({ page, config: { rootPath: '/apps/llm' } });
  for (const encoding of ['gzip', 'identity']) {
    const headers = { ...BROWSER, 'accept-encoding': encoding };
    const text = await (await fetch(`${url}/apps/llm/`, { headers })).text();
    expect(text).toBe(INDEX.replace('/ui/', '/apps/llm/ui/'));
  }
  expect((await fetch(`${url}/apps/llm/ui/${SCRIPT}`)).status).toBe(200);
});
