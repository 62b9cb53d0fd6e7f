import { EventEmitter, once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished, test } from 'vitest';
import { download, DownloadError, type DownloadRules } from '../../src/net/download.ts';
import { isPublicAddress } from '../../src/net/public-address.ts';

const FILE = Buffer.from('the file');

/** Serves until the test ends; returns the address. */
async function serve(answer: RequestListener): Promise<URL> {
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

/** Allows one origin, unless a test says otherwise. */
function rulesFor(url: URL, more: Partial<DownloadRules> = {}): DownloadRules {
  return {
    isAllowed: ({ origin }) => origin === url.origin,
    maxBytes: 1000,
    maxMs: 20_000,
    signal: new AbortController().signal,
    ...more,
  };
}

/** The reason of a download that must fail, which tells nothing else. */
async function reasonOf(running: Promise<unknown>): Promise<DownloadError['reason'] | 'none'> {
  try {
    await running;
    return 'none';
  } catch (error) {
    if (error instanceof DownloadError) return error.reason;
    throw error;
  }
}

test('gives the body, and asks for none that is packed', async () => {
  const seen: unknown[] = [];
  const url = await serve(({ headers, url: path }, response) => {
    seen.push(path, headers.host, headers['accept-encoding']);
    response.end(FILE);
  });
  const at = new URL('/a%20b?c=d#e', url);
  expect(Buffer.from(await download(at, rulesFor(url)))).toEqual(FILE);
  expect(seen).toEqual(['/a%20b?c=d', url.host, 'identity']);
});

describe('refuses at once', () => {
  it.each(['http://user@HOST/', 'http://:word@HOST/', 'ftp://HOST/', 'file:///etc/passwd'])(
    '%s',
    async (text) => {
      let asked = 0;
      const url = await serve((_, response) => response.end(String(++asked)));
      const at = new URL(text.replace('HOST', url.host));
      const rules = { ...rulesFor(url), isAllowed: () => true };
      expect(await reasonOf(download(at, rules))).toBe('refused');
      expect(asked).toBe(0);
    },
  );

  it('what is not allowed', async () => {
    const url = await serve((_, response) => response.end(FILE));
    const rules = rulesFor(new URL('http://127.0.0.1:1/'));
    expect(await reasonOf(download(url, rules))).toBe('refused');
  });
});

describe('redirects', () => {
  it('are followed three times, and each is looked at', async () => {
    const url = await serve(({ url: path = '' }, response) => {
      const step = Number(path.slice(1));
      if (step === 0) return response.end(FILE);
      return response.writeHead(302, { location: `/${step - 1}` }).end();
    });
    const from = (steps: number) => download(new URL(`/${steps}`, url), rulesFor(url));
    expect(Buffer.from(await from(3))).toEqual(FILE);
    expect(await reasonOf(from(4))).toBe('failed');
  });

  it.each(['http://127.0.0.1:1/', 'file:///etc/passwd', 'http://me@HOST/', 'data:,x', '//[::1]/'])(
    'to %s lead nowhere',
    async (location) => {
      const url = await serve((_, response) =>
        response.writeHead(301, { location: location.replace('HOST', url.host) }).end(),
      );
      expect(await reasonOf(download(url, rulesFor(url)))).toBe('failed');
    },
  );
});

describe('a name', () => {
  const anything = { isAllowed: () => true };
  const through = (url: URL, addresses: readonly string[]) => {
    const named = new URL(`http://images.example:${url.port}/`);
    return download(named, rulesFor(named, { ...anything, lookup: async () => addresses }));
  };

  it.each([
    [['127.0.0.1']],
    [['8.8.8.8', '10.0.0.1']],
    [['::1']],
    [['::ffff:8.8.8.8']],
    [['169.254.169.254']],
    [[]],
  ])('with the addresses %j is not asked', async (addresses) => {
    let asked = 0;
    const url = await serve((_, response) => response.end(String(++asked)));
    expect(await reasonOf(through(url, addresses))).toBe('failed');
    expect(asked).toBe(0);
  });

  it('of this machine is not asked, by its own lookup', async () => {
    let asked = 0;
    const url = await serve((_, response) => response.end(String(++asked)));
    const named = new URL(`http://localhost:${url.port}/`);
    expect(await reasonOf(download(named, rulesFor(named)))).toBe('failed');
    expect(asked).toBe(0);
  });
});

describe('bodies', () => {
  it('that say they are too large are not read', async () => {
    const url = await serve((_, response) =>
      response.writeHead(200, { 'content-length': 5000 }).flushHeaders(),
    );
    expect(await reasonOf(download(url, rulesFor(url)))).toBe('too-large');
  });

  it('without an end are cut', async () => {
    const url = await serve((_, response) => {
      const timer = setInterval(() => response.write(Buffer.alloc(400)), 1);
      response.on('close', () => clearInterval(timer));
    });
    expect(await reasonOf(download(url, rulesFor(url)))).toBe('too-large');
  });

  it('that are packed, or of errors, are not taken', async () => {
    const packed = await serve((_, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(1e6))),
    );
    expect(await reasonOf(download(packed, rulesFor(packed)))).toBe('failed');
    const missing = await serve((_, response) => response.writeHead(404).end(FILE));
    expect(await reasonOf(download(missing, rulesFor(missing)))).toBe('failed');
  });

  it('that are slow end with the time', async () => {
    const url = await serve((_, response) => response.writeHead(200).write('a'));
    expect(await reasonOf(download(url, rulesFor(url, { maxMs: 50 })))).toBe('failed');
  });

  it('of what is no HTTP are not taken', async () => {
    const server = createTcpServer((socket) => socket.end('220 mail.example ready\r\n'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    expect(await reasonOf(download(url, rulesFor(url)))).toBe('failed');
  });
});

test('ends with its asker, while a name is looked up and while a body comes', async () => {
  const leaving = new AbortController();
  const named = new URL('http://images.example/');
  const never = new Promise<never>(() => {});
  const waiting = download(named, rulesFor(named, { signal: leaving.signal, lookup: () => never }));
  const seen = new EventEmitter();
  const [begun, closed] = [once(seen, 'begun'), once(seen, 'closed')];
  const url = await serve((_, response) => {
    response.on('close', () => seen.emit('closed'));
    response.writeHead(200).write('a', () => seen.emit('begun'));
  });
  const reading = download(url, rulesFor(url, { signal: leaving.signal }));
  await begun;
  leaving.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  await expect(reading).rejects.toThrow('gone');
  await closed;
});

test.each([
  ['8.8.8.8', true],
  ['172.15.0.1', true],
  ['172.32.0.1', true],
  ['2606:4700::1111', true],
  ['0.0.0.0', false],
  ['10.1.2.3', false],
  ['100.64.0.1', false],
  ['127.9.9.9', false],
  ['169.254.169.254', false],
  ['172.16.0.1', false],
  ['172.31.255.255', false],
  ['192.168.1.1', false],
  ['198.18.0.1', false],
  ['224.0.0.1', false],
  ['240.0.0.1', false],
  ['255.255.255.255', false],
  ['::', false],
  ['::1', false],
  ['::ffff:8.8.8.8', false],
  ['::8.8.8.8', false],
  ['64:ff9b::808:808', false],
  ['fe80::1', false],
  ['fe80::1%eth0', false],
  ['2606:4700::1111%eth0', false],
  ['fc00::1', false],
  ['fd12::1', false],
  ['ff02::1', false],
  ['2001::1', false],
  ['2001:db8::1', false],
  ['2002:7f00:1::', false],
  ['example.com', false],
  ['', false],
])('the address %s is public: %s', (address, isPublic) => {
  expect(isPublicAddress(address)).toBe(isPublic);
});
