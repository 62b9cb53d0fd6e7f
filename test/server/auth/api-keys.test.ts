/** Keys from files, the operator's key, keys that are taken away, and what is logged of them. */
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { parseApiKeys } from '../../../src/server/auth/api-key-file.ts';
import { ApiKeys, digestOf, unnamedKeys } from '../../../src/server/auth/api-keys.ts';
import { errorOf, post } from '../support/client.ts';
import { useServers } from '../support/test-server.ts';
import { connect } from '../support/web-socket.ts';

const server = useServers();
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

describe('a key file', () => {
  test('has a name and a key on each line', () => {
    const text = '# of 2026\nalice  key-1\r\n\n\tbob\tkey:2 \n  # key-3\nalice key-4';
    expect(parseApiKeys(text)).toEqual([
      { client: 'alice', digest: digestOf('key-1') },
      { client: 'bob', digest: digestOf('key:2') },
      { client: 'alice', digest: digestOf('key-4') },
    ]);
  });

  test.each([
    ['alice key-1\nsecret-key', /line 2: expected `name key`/],
    ['alice key-1 # of 2026', /line 1: expected `name key`/],
    ['al/ice key-1', /line 1: a name has/],
    [`${'a'.repeat(65)} key-1`, /line 1: a name has/],
    ['alice key-1\n\nbob key-1', /line 3: this key is on line 1 already/],
    ['', /it has no keys/],
    ['# alice key-1\n', /it has no keys/],
  ])('that is wrong is refused without telling keys: %j', (text, message) => {
    expect(() => parseApiKeys(text)).toThrow(message);
    expect(() => parseApiKeys(text)).not.toThrow(/secret-key|key-1/);
  });
});

test('nothing of a key is kept but its digest', () => {
  const keys = new ApiKeys(
    [...unnamedKeys(['plain-1']), ...parseApiKeys('alice plain-2')],
    digestOf('plain-3'),
  );
  keys.identify({ authorization: 'Bearer plain-2' });
  expect(JSON.stringify(keys)).not.toContain('plain');
  expect(keys.numClients).toBe(2);
});

test('several keys of one name are one client', async () => {
  const keys = new ApiKeys(parseApiKeys('alice old-key\nalice new-key\nbob bobs-key'));
  const target = await server({ keys });
  for (const key of ['old-key', 'new-key', 'bobs-key']) {
    await post(target, '/v1/completions', { prompt: 'Hi' }, { headers: bearer(key) });
  }
  const [old, renewed, other] = target.engine.requests.map(({ cacheSalt }) => cacheSalt);
  expect(renewed).toBe(old);
  expect(other).not.toBe(old);
});

describe('keys that are replaced', () => {
  const before = () => new ApiKeys(parseApiKeys('alice key-1\nbob key-2'));

  test('hold from the next request on', async () => {
    const keys = before();
    const target = await server({ keys });
    const ask = (key: string) => fetch(`${target.url}/v1/models`, { headers: bearer(key) });
    expect((await ask('key-1')).status).toBe(200);
    keys.replace(parseApiKeys('alice key-9'));
    expect((await ask('key-1')).status).toBe(401);
    expect((await ask('key-9')).status).toBe(200);
  });

  test('open the API to nobody when none is left', async () => {
    const keys = before();
    keys.replace([]);
    const { url } = await server({ keys });
    expect((await fetch(`${url}/v1/models`)).status).toBe(401);
  });

  test('end the sockets of those that are gone, and no others', async () => {
    const keys = before();
    const target = await server({ keys });
    const gone = await connect(target, '/v1/completions', bearer('key-1'));
    const kept = await connect(target, '/v1/completions', bearer('key-2'));
    keys.replace(parseApiKeys('bob key-2\nalice key-9'));
    target.webSockets.dropRevoked();
    expect(await gone.closed).toBe(1008);
    kept.send({ request_id: 'r', prompt: 'Hi' });
    expect((await kept.answer('r')).at(-1)).toMatchObject({ type: 'done' });
    kept.socket.close();
  });
});

describe('the admin key', () => {
  const keys = () => new ApiKeys(parseApiKeys('alice key-1'), digestOf('admin-key'));

  test('alone opens /metrics', async () => {
    const { url } = await server({ keys: keys() });
    const ask = (headers: Record<string, string>) => fetch(`${url}/metrics`, { headers });
    expect((await ask(bearer('admin-key'))).status).toBe(200);
    expect((await ask({ 'x-api-key': 'admin-key' })).status).toBe(200);
    await errorOf(await ask({}), 401);
    await errorOf(await ask(bearer('wrong')), 401);
    const error = await errorOf(await ask(bearer('key-1')), 403);
    expect(error).toMatchObject({ code: 'admin_key_required' });
  });

  test('opens everything else too, as a client of its own', async () => {
    const target = await server({ keys: keys() });
    for (const key of ['admin-key', 'key-1']) {
      const headers = bearer(key);
      const response = await post(target, '/v1/completions', { prompt: 'Hi' }, { headers });
      expect(response.status).toBe(200);
    }
    const [admin, user] = target.engine.requests;
    expect(admin?.cacheSalt).not.toBe(user?.cacheSalt);
  });

  test('leaves an API without keys open', async () => {
    const target = await server({ keys: new ApiKeys([], digestOf('admin-key')) });
    expect((await fetch(`${target.url}/v1/models`)).status).toBe(200);
    expect((await fetch(`${target.url}/metrics`)).status).toBe(401);
  });
});

test('logs name the client, and never its key', async () => {
  const lines: string[] = [];
  const logger = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
  const keys = new ApiKeys(parseApiKeys('alice key-1'));
  const target = await server({ keys, logger });
  const body = { prompt: 'Hi' };
  await post(target, '/v1/completions', body, { headers: bearer('key-1') });
  await post(target, '/v1/completions', body, { headers: bearer('wrong-key') });
  const requests = lines.filter((line) => line.includes('"msg":"request"'));
  expect(requests.map((line) => JSON.parse(line))).toMatchObject([
    { client: 'alice', status: 200 },
    { status: 401 },
  ]);
  expect(requests[1]).not.toContain('client');
  expect(lines.join('')).not.toMatch(/key-1|wrong-key/);
  expect(lines.join('')).not.toContain(digestOf('key-1').toString('hex'));
});
