import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openAccess } from '../../../src/serving/server/access.ts';
import type { TlsContext } from '../../../src/server/http/tls.ts';
import { unnamedKeys } from '../../../src/server/auth/api-keys.ts';

type AccessOptions = Parameters<typeof openAccess>[0];

const tlsFolder = new URL('../../support/tls/', import.meta.url).pathname;
const NONE: AccessOptions = {
  config: undefined,
  host: '127.0.0.1',
  apiKey: undefined,
  apiKeyFile: undefined,
  adminApiKey: undefined,
  adminApiKeyFile: undefined,
  tlsCert: undefined,
  tlsKey: undefined,
};

let folder = '';
let lines: { level: number; msg: string }[] = [];
let renewed: TlsContext[] = [];
let drops = 0;

const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
const users = {
  isConfigured: true,
  onKeys: () => void drops++,
  setTls: (tls: TlsContext) => void renewed.push(tls),
};

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chairlift-access-'));
  [lines, renewed, drops] = [[], [], 0];
});
afterEach(() => rm(folder, { recursive: true }));

async function file(text: string): Promise<string> {
  const path = join(folder, 'keys');
  await writeFile(path, text);
  return path;
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

describe('API keys', () => {
  test('come from the flag and from the file', async () => {
    const apiKeyFile = await file('alice key-2');
    const apiKey = unnamedKeys(['key-1']);
    const { keys } = await openAccess({ ...NONE, apiKey, apiKeyFile }, logger);
    expect(keys.identify(bearer('key-1'))?.client).toBe('#be2974546978');
    expect(keys.identify(bearer('key-2'))?.client).toBe('alice');
  });

  test('that are wrong at the start end it, naming file and line', async () => {
    const apiKeyFile = await file('alice key-1\nkey-2');
    const opening = openAccess({ ...NONE, apiKeyFile }, logger);
    await expect(opening).rejects.toThrow(`${apiKeyFile}: line 2`);
    const missing = openAccess({ ...NONE, apiKeyFile: join(folder, 'none') }, logger);
    await expect(missing).rejects.toThrow(/none/);
  });

  test('are reloaded', async () => {
    const apiKeyFile = await file('alice key-1');
    const { keys, reload } = await openAccess({ ...NONE, apiKeyFile }, logger);
    await file('alice key-2');
    await reload(users);
    expect(() => keys.identify(bearer('key-1'))).toThrow(/not valid/);
    expect(keys.identify(bearer('key-2'))?.client).toBe('alice');
    expect(drops).toBe(1);
  });

  test.each(['alice key-1\nkey-2', ''])('that are wrong later change nothing: %j', async (text) => {
    const apiKeyFile = await file('alice key-1');
    const { keys, reload } = await openAccess({ ...NONE, apiKeyFile }, logger);
    await file(text);
    await reload(users);
    expect(keys.identify(bearer('key-1'))?.client).toBe('alice');
    expect(drops).toBe(0);
    expect(lines.at(-1)).toMatchObject({ level: 50, msg: expect.stringContaining(apiKeyFile) });
    expect(lines.at(-1)?.msg).toMatch(/^API keys not reloaded, what was in use stays: /);
    expect(JSON.stringify(lines)).not.toMatch(/key-\d/);
  });

  test.each([true, false])(
    'of a configuration file that is valid (%s) are reloaded',
    async (is) => {
      const options = { ...NONE, config: 'chairlift.yaml', apiKey: unnamedKeys(['key-1']) };
      const { reload } = await openAccess(options, logger);
      await reload({ ...users, isConfigured: is });
      expect(lines.map(({ msg }) => msg)).toEqual(is ? ['API keys reloaded'] : []);
    },
  );
});

describe('TLS', () => {
  const filesOf = (name: string) => ({
    tlsCert: join(tlsFolder, `${name}-cert.pem`),
    tlsKey: join(tlsFolder, `${name}-key.pem`),
  });

  test('needs both of its files', async () => {
    const { tlsCert } = filesOf('first');
    await expect(openAccess({ ...NONE, tlsCert }, logger)).rejects.toThrow(/go together/);
  });

  test('is reloaded', async () => {
    const { tls, reload } = await openAccess({ ...NONE, ...filesOf('first') }, logger);
    await reload(users);
    expect(renewed).toEqual([tls]);
  });

  test('stays as it was when its files are wrong', async () => {
    const { tlsCert, tlsKey } = filesOf('first');
    const copy = await file('');
    await copyFile(tlsKey, copy);
    const { reload } = await openAccess({ ...NONE, tlsCert, tlsKey: copy }, logger);
    await file('no PEM');
    await reload(users);
    expect(renewed).toEqual([]);
    expect(lines.at(-1)).toMatchObject({ level: 50, msg: expect.stringContaining(copy) });
  });
});

describe('a warning', () => {
  const warnings = async (options: Partial<AccessOptions>) => {
    await openAccess({ ...NONE, ...options }, logger);
    return lines.filter(({ level }) => level === 40).map(({ msg }) => msg);
  };

  test('is given for a public address without a key', async () => {
    const [warning, ...more] = await warnings({ host: '0.0.0.0' });
    expect(warning).toContain('--api-key');
    expect(more).toEqual([]);
  });

  test('is not given with a key, nor on loopback', async () => {
    expect(await warnings({ host: '0.0.0.0', apiKey: unnamedKeys(['key']) })).toEqual([]);
    expect(await warnings({ host: 'localhost' })).toEqual([]);
  });
});
