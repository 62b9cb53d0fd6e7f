import { once } from 'node:events';
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished, test } from 'vitest';
import { type ImageSource, imagePart } from '../../../src/front/chat/chat-images.ts';
import {
  ImageSources,
  type ImageSourcesOptions,
  type RequestImages,
} from '../../../src/front/images/image-sources.ts';
import { isMediaDomain, MediaDomains } from '../../../src/front/images/media-domains.ts';
import { InvalidRequestError } from '../../../src/front/invalid-request.ts';
import { QueueFullError } from '../../../src/front/queue/admission.ts';
import { LIMITS } from '../../../src/limits.ts';
import { pngBomb } from '../../support/image-bombs.ts';
import { DOT } from '../../support/images.ts';

const CALLER = { client: 'a', signal: new AbortController().signal };
const BASE64 = DOT.toString('base64');
const NONE: ImageSourcesOptions = { allowedDomains: [], allowedLocalPath: null, maxImages: 4 };

function partOf(source: ImageSource) {
  return imagePart(source, 'messages.0');
}

function urlPart(url: string | URL) {
  return partOf({ type: 'url', url: String(url) });
}

function read(
  sources: readonly ReturnType<typeof partOf>[],
  options: Partial<ImageSourcesOptions> = {},
) {
  return new ImageSources({ ...NONE, ...options }).ofRequest().read(sources, CALLER);
}

/** The message of a refusal, which names the part. */
async function refusalOf(reading: Promise<unknown>): Promise<string> {
  const error: unknown = await reading.catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(InvalidRequestError);
  expect(error).toMatchObject({ field: 'messages.0' });
  return (error as Error).message;
}

test('images come in the order of their parts, whatever they are called', async () => {
  const images = await read([
    partOf({ type: 'base64', data: BASE64 }),
    urlPart(`data:image/gif;base64,${BASE64}`),
    urlPart(`DATA:image/png;base64,${BASE64.replaceAll('=', '')}`),
  ]);
  expect(images).toEqual([DOT, DOT, DOT].map((file) => ({ file, detail: 'auto' })));
});

describe('refuses', () => {
  it.each([
    ['what is no base64', 'data:image/png;base64,####'],
    ['base64 with spaces', `data:image/png;base64, ${BASE64}`],
    ['base64 that ends in its middle', `data:image/png;base64,AA==${BASE64}`],
    ['base64 of a length that none has', 'data:image/png;base64,AAAAA'],
    ['a data URL of a text', `data:text/html;base64,${BASE64}`],
    ['a data URL in percent signs', 'data:image/svg+xml,%3Csvg/%3E'],
    ['a data URL within one', `data:data:image/gif;base64,${BASE64}`],
    ['SVG', `data:image/svg+xml;base64,${Buffer.from('<svg/>').toString('base64')}`],
    ['nothing', ''],
    ['nothing in a data URL', 'data:image/png;base64,'],
    ['another scheme', 'ftp://images.example/a.png'],
    ['a script', 'javascript:alert(1)'],
    ['a blob', 'blob:http://images.example/1'],
    ['a local file', 'file:///etc/passwd'],
    ['a host', 'https://images.example/a.png'],
    ['a URL that is too long', `https://images.example/${'a'.repeat(LIMITS.imageUrlCharacters)}`],
  ])('%s', async (_, url) => {
    const message = await refusalOf(read([urlPart(url)]));
    expect(message).not.toContain('/etc');
  });

  it('more images than a prompt may have, before any is read', async () => {
    const parts = Array.from({ length: 5 }, () => urlPart('data:nothing'));
    expect(await refusalOf(read(parts))).toContain('at most 4 images');
  });

  it('an image of too many pixels by its head', async () => {
    const data = pngBomb(60_000).toString('base64');
    expect(await refusalOf(read([partOf({ type: 'base64', data })]))).toContain('pixels');
  });

  it('one that has too many bytes, before it is decoded, and too many together', async () => {
    const data = 'A'.repeat(Math.ceil(LIMITS.imageBytes / 3) * 4 + 4);
    expect(await refusalOf(read([partOf({ type: 'base64', data })]))).toContain('at most');
    const padded = (more: number) =>
      Buffer.concat([DOT, Buffer.alloc(LIMITS.imageBytes - more)]).toString('base64');
    const parts = [100, 200, 300].map((more) => partOf({ type: 'base64', data: padded(more) }));
    expect(await refusalOf(read(parts))).toContain('at most');
  });
});

test('bytes are the client’s until its request has ended', async () => {
  const sources = new ImageSources(NONE);
  const file = Buffer.concat([DOT, Buffer.alloc(LIMITS.imageBytes - 100)]);
  const part = partOf({ type: 'base64', data: file.toString('base64') });
  const held: RequestImages[] = [];
  const all = LIMITS.clientImageBytesHeld / LIMITS.imageBytes;
  await expect(async () => {
    for (let request = 0; request < all; request++) {
      const images = sources.ofRequest();
      held.push(images);
      // Twice in a request is once.
      await images.read([part, part], CALLER);
    }
  }).rejects.toThrow(QueueFullError);
  expect(held.length).toBeGreaterThan(all / 3);
  await expect(sources.ofRequest().read([part], { ...CALLER, client: 'b' })).resolves.toHaveLength(
    1,
  );
  for (const images of held) images.release();
  await expect(sources.ofRequest().read([part], CALLER)).resolves.toHaveLength(1);
});

test('what arrives after the end of its request is not kept', async () => {
  const sources = new ImageSources(NONE);
  const part = partOf({ type: 'base64', data: BASE64 });
  const images = sources.ofRequest();
  const reading = images.read([part], CALLER);
  images.release();
  await expect(reading).rejects.toThrow('has ended');
});

test('files are those that the client uploaded', async () => {
  const readUpload = async (id: string, client: string) =>
    id === 'file-1' && client === 'a' ? DOT : null;
  const own = partOf({ type: 'file', id: 'file-1' });
  expect(await read([own], { readUpload })).toHaveLength(1);
  expect(await refusalOf(read([partOf({ type: 'file', id: 'file-2' })], { readUpload }))).toContain(
    'no such file',
  );
  expect(await refusalOf(read([own]))).toContain('no such file');
  const others = new ImageSources({ ...NONE, readUpload }).ofRequest();
  await refusalOf(others.read([own], { ...CALLER, client: 'b' }));
});

test('images are fetched from a host that is allowed, and nothing is told of what was there', async () => {
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.end(request.url === '/dot' ? DOT : 'a secret');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const failures: string[] = [];
  const options = {
    allowedDomains: [`127.0.0.1:${port}`, '127.0.0.1:1'],
    onFailedDownload: ({ message }: Error) => failures.push(message),
  };
  const at = (path: string) => urlPart(`http://127.0.0.1:${port}${path}`);
  expect(await read([at('/dot')], options)).toEqual([{ file: DOT, detail: 'auto' }]);
  const message = await refusalOf(read([at('/text')], options));
  expect(message).not.toContain('secret');
  const silent = await refusalOf(read([urlPart('http://127.0.0.1:1/')], options));
  expect(silent).toBe('`messages.0`: the image could not be fetched.');
  expect(failures).toEqual([expect.stringContaining('ECONNREFUSED')]);
  await refusalOf(read([urlPart(`http://localhost:${port}/dot`)], options));
});

test('a client fetches so many at once', async () => {
  const server = createServer(() => {}).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const sources = new ImageSources({ ...NONE, allowedDomains: [`127.0.0.1:${port}`] });
  const leaving = new AbortController();
  const caller = { client: 'a', signal: leaving.signal };
  const part = urlPart(`http://127.0.0.1:${port}/`);
  const running = Array.from({ length: LIMITS.clientImageFetches }, () =>
    sources.ofRequest().read([part], caller),
  );
  await expect(sources.ofRequest().read([part], caller)).rejects.toThrow(QueueFullError);
  leaving.abort(new Error('gone'));
  const ends = await Promise.allSettled(running);
  expect(ends.map((end) => String('reason' in end && end.reason))).toEqual(
    running.map(() => 'Error: gone'),
  );
});

describe('local files', () => {
  async function folders() {
    const root = await realpath(await mkdtemp(join(tmpdir(), 'media-')));
    onTestFinished(() => rm(root, { recursive: true }));
    const media = join(root, 'media');
    await mkdir(join(media, 'deep'), { recursive: true });
    await mkdir(join(root, 'media-other'));
    await writeFile(join(media, 'deep', 'a b.gif'), DOT);
    await writeFile(join(root, 'secret.gif'), DOT);
    await writeFile(join(root, 'media-other', 'a.gif'), DOT);
    await symlink(join(root, 'secret.gif'), join(media, 'link.gif'));
    await symlink(root, join(media, 'up'));
    await symlink(join(media, 'deep', 'a b.gif'), join(media, 'inside.gif'));
    return { root, media, options: { allowedLocalPath: media } };
  }

  it('are read below the folder', async () => {
    const { media, options } = await folders();
    for (const path of ['deep/a b.gif', 'inside.gif']) {
      const part = urlPart(pathToFileURL(join(media, path)));
      expect(await read([part], options)).toEqual([{ file: DOT, detail: 'auto' }]);
    }
  });

  it('are nowhere else, and what is there is not told', async () => {
    const { root, media, options } = await folders();
    const base = pathToFileURL(media).href;
    const urls = [
      `${base}/../secret.gif`,
      `${base}/%2e%2e/secret.gif`,
      `${base}/..%2fsecret.gif`,
      `${base}/link.gif`,
      `${base}/up/secret.gif`,
      `${base}/deep`,
      base,
      `${base}/none.gif`,
      `${base}/a%00.gif`,
      `${pathToFileURL(root).href}/media-other/a.gif`,
      `${pathToFileURL(root).href}/secret.gif`,
      'file:///dev/zero',
      'file:///proc/self/environ',
      `file://elsewhere.example${media}/deep/a%20b.gif`,
    ];
    const messages = await Promise.all(urls.map((url) => refusalOf(read([urlPart(url)], options))));
    expect(new Set(messages).size).toBe(1);
  });
});

describe('domains', () => {
  const domains = new MediaDomains([
    'Example.com',
    '*.images.example',
    'store.example:9000',
    '10.0.0.5',
    'bücher.example',
  ]);

  it.each([
    ['https://example.com/a', true],
    ['http://EXAMPLE.com:80/', true],
    ['http://10.0.0.5/', true],
    ['http://0xa.0.0.5/', true],
    ['http://store.example:9000/', true],
    ['https://a.b.images.example/', true],
    ['https://xn--bcher-kva.example/', true],
    ['https://example.com:8443/', false],
    ['http://store.example/', false],
    ['https://images.example/', false],
    ['https://notimages.example/', false],
    ['https://example.com.evil.example/', false],
    ['https://example.com./', false],
    ['https://www.example.com/', false],
    ['https://evil.example/?example.com', false],
    ['https://evil.example#example.com', false],
    ['http://10.0.0.6/', false],
  ])('of %s: %s', (url, isAllowed) => {
    expect(domains.allows(new URL(url))).toBe(isAllowed);
  });

  it.each(['', '*', '*.', '*.1.2', 'a/b', 'user@a', 'http://a', 'a b', 'a:b', 'a.*.b', 'a?b'])(
    '%j is none',
    (text) => {
      expect(isMediaDomain(text)).toBe(false);
    },
  );
});
