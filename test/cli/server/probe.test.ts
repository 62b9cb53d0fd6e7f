import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { ask, probe, probeUrl } from '../../../src/cli/server/probe.ts';
import { readTls } from '../../../src/server/http/tls.ts';
import { useServers } from '../../server/support/test-server.ts';
import { settingsFrom } from '../../support/settings.ts';

const server = useServers();
const TLS = {
  cert: resolve('test/support/tls/first-cert.pem'),
  key: resolve('test/support/tls/first-key.pem'),
};

describe('the address is that of the server', () => {
  test.each([
    [{}, 'http://127.0.0.1:8000/livez'],
    [{ host: '0.0.0.0' }, 'http://127.0.0.1:8000/livez'],
    [{ host: '::' }, 'http://[::1]:8000/livez'],
    [{ host: 'fe80::1' }, 'http://[fe80::1]:8000/livez'],
    [{ host: '10.0.0.7', port: 80 }, 'http://10.0.0.7/livez'],
    [{ host: 'llm.example', tlsCert: 'cert.pem' }, 'https://llm.example:8000/livez'],
    // A port without TLS.
    [{ tlsCert: 'cert.pem', metricsPort: 9090 }, 'http://127.0.0.1:9090/livez'],
    [{ port: 0, metricsPort: 9090 }, 'http://127.0.0.1:9090/livez'],
    // A free port, which is not known.
    [{ tlsCert: 'cert.pem', metricsPort: 0 }, 'https://127.0.0.1:8000/livez'],
  ])('%j: %s', (flags, url) => {
    const options = { host: '127.0.0.1', port: 8000, ...flags };
    expect(
      probeUrl({ metricsPort: undefined, tlsCert: undefined, ...options }, '/livez').href,
    ).toBe(url);
  });

  test('a port that nobody knows is an error', () => {
    const options = { host: '::', metricsPort: undefined, tlsCert: undefined };
    expect(() => probeUrl({ ...options, port: 0 }, '/livez')).toThrow('a port other than 0');
  });
});

describe('the command', () => {
  const output = { log: vi.spyOn(console, 'log'), error: vi.spyOn(console, 'error') };
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chairlift-probe-'));
    for (const each of Object.values(output)) each.mockReset().mockImplementation(() => {});
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true });
  });

  /** Its exit code, and what it printed. */
  async function run(...args: string[]): Promise<{ code: unknown; printed: string }> {
    process.exitCode = 0;
    await probe(await settingsFrom('probe', args, process.env));
    const code = process.exitCode;
    process.exitCode = 0;
    return { code, printed: [...output.log.mock.calls, ...output.error.mock.calls].join('\n') };
  }

  const portOf = (url: string) => new URL(url).port;

  test('finds a live server by flags, environment and file', async () => {
    const { url } = await server();
    const alive = { code: 0, printed: '{"status":"ok"}' };
    expect(await run('--port', portOf(url))).toEqual(alive);
    vi.stubEnv('CHAIRLIFT_HOST', '0.0.0.0');
    vi.stubEnv('CHAIRLIFT_PORT', portOf(url));
    output.log.mockClear();
    expect(await run()).toEqual(alive);
    vi.unstubAllEnvs();
    const file = join(folder, 'chairlift.yaml');
    await writeFile(file, `port: ${portOf(url)}\nmax-num-seqs: 4\n`);
    vi.stubEnv('CHAIRLIFT_CONFIG', file);
    output.log.mockClear();
    expect(await run()).toEqual(alive);
  });

  test('reaches one that speaks TLS alone, whatever its certificate names', async () => {
    const { url } = await server({ tls: await readTls(TLS) });
    vi.stubEnv('CHAIRLIFT_TLS_CERT', TLS.cert);
    expect(await run('--port', portOf(url))).toMatchObject({ code: 0 });
    vi.unstubAllEnvs();
    expect(await run('--port', portOf(url))).toMatchObject({ code: 1 });
  });

  test('finds one on a unix socket, or at its port for metrics', async () => {
    const host = `unix:${join(folder, 'c.sock')}`;
    await server({ listensOn: host, config: { host } });
    expect(await run('--host', host)).toMatchObject({ code: 0 });
    expect(await run('--ready', '--port', '0', '--host', host)).toMatchObject({ code: 0 });
    const { url } = await server();
    expect(await run('--host', host, '--metrics-port', portOf(url))).toMatchObject({ code: 0 });
    const none = await run('--host', `${host}2`);
    expect(none).toMatchObject({ code: 1, printed: expect.stringContaining('ENOENT') });
  });

  test('needs no key, and no name that is allowed', async () => {
    const { url } = await server({ config: { apiKeys: ['key'], host: '127.0.0.1' } });
    expect(await run('--port', portOf(url))).toMatchObject({ code: 0 });
  });

  test('tells a server that starts from one that is ready', async () => {
    const { url } = await server({ state: 'starting' });
    expect(await run('--port', portOf(url))).toMatchObject({ code: 0 });
    const { code, printed } = await run('--ready', '--port', portOf(url));
    expect(code).toBe(1);
    expect(printed).toContain(`${url}/ready answered 503`);
    expect(printed).toContain('The engine is starting.');
  });

  test('fails where nobody listens, with a line', async () => {
    const { code, printed } = await run('--port', '1');
    expect(code).toBe(1);
    expect(printed).toContain('ECONNREFUSED');
  });

  test('fails where nobody answers', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await new Promise((listening) => silent.once('listening', listening));
    const address = silent.address();
    const port = typeof address === 'object' ? address?.port : 0;
    await expect(ask(new URL(`http://127.0.0.1:${port}/livez`), 50)).rejects.toThrow(
      'did not answer within 0.05 s',
    );
    silent.close();
  });
});

test('loads no other command: it runs every few seconds', () => {
  const files = new Set<string>();
  const packages = new Set<string>();
  const look = (file: string): void => {
    if (files.has(file)) return;
    files.add(file);
    const imports = readFileSync(file, 'utf8').matchAll(/^import (?!type )[^;]*?'([^']+)';$/gm);
    for (const [, name = ''] of imports) {
      if (name.startsWith('.')) look(resolve(dirname(file), name));
      else if (!name.startsWith('node:')) packages.add(name);
    }
  };
  look(resolve('src/cli/main.ts'));
  look(resolve('src/cli/server/probe.ts'));
  expect([...packages]).toEqual(['zod']);
  // Tables of flags, and the names and limits that these are about.
  expect(files.size).toBeLessThan(80);
  const heavy = /src\/(cli\/\w+-model|front\/text|model\/hub|server\/http)/;
  expect([...files].filter((file) => heavy.test(file))).toEqual([]);
});
