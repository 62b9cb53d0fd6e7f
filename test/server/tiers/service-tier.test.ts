/** `service_tier`: what a request gets, what it is told, and what it can't take. */
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { serviceClasses } from '../../../src/front/service-classes/service-class.ts';
import { parseApiKeys } from '../../../src/server/auth/api-key-file.ts';
import { ApiKeys, digestOf } from '../../../src/server/auth/api-keys.ts';
import { ServiceTiers } from '../../../src/server/tiers/service-tiers.ts';
import { errorOf, post } from '../support/client.ts';
import { MODEL, useServers } from '../support/test-server.ts';

const server = useServers();
const { classes } = serviceClasses();
const names = classes.map(({ name }) => name);
const FILE = 'ann key-ann class=interactive\nben key-ben\ncat key-cat class=batch\n';
const keys = () => new ApiKeys(parseApiKeys(FILE, names), digestOf('key-admin'));
const of = (who: string) => ({ headers: { authorization: `Bearer key-${who}` } });
const body = { prompt: 'Hi', max_tokens: 4 };
const PATH = '/v1/completions';

/** Tier that the engine got, and what the client was told. */
async function granted(who: string, fields: object, path = PATH, asked: object = body) {
  const target = await server({ keys: keys() });
  const answer = await post(target, path, { ...asked, ...fields }, of(who));
  expect(answer.status).toBe(200);
  const { service_tier: told } = JSON.parse(await answer.text());
  const [request] = target.engine.requests;
  return { told, tier: request?.tier, priority: request?.priority, itl: request?.targetItlMs };
}

describe('a request gets', () => {
  test.each([
    ['ann', {}, undefined, -10, 42.5],
    ['ann', { service_tier: 'auto' }, 'priority', -10, 42.5],
    ['ann', { service_tier: 'priority' }, 'priority', -10, 42.5],
    ['ann', { service_tier: 'interactive' }, 'priority', -10, 42.5],
    ['ann', { service_tier: 'flex' }, 'flex', 1000, null],
    ['ben', {}, undefined, 0, null],
    ['ben', { service_tier: 'default' }, 'default', 0, null],
    ['ben', { service_tier: 'auto' }, 'default', 0, null],
    ['ben', { service_tier: null }, undefined, 0, null],
    ['cat', {}, undefined, 1000, null],
    // Nobody takes what their key does not allow, by whatever name.
    ['ann', { service_tier: 'ultra-low' }, 'priority', -10, 42.5],
    ['ben', { service_tier: 'priority' }, 'default', 0, null],
    ['ben', { service_tier: 'ultra-low' }, 'default', 0, null],
    ['cat', { service_tier: 'default' }, 'flex', 1000, null],
    ['cat', { service_tier: 'interactive', priority: -99 }, 'flex', 1000, null],
    ['admin', { service_tier: 'ultra-low' }, 'ultra-low', -20, 21.25],
    ['admin', {}, undefined, 0, null],
  ])('%s, asking for %j: %s', async (who, fields, told, tier, itl) => {
    expect(await granted(who, fields)).toEqual({ told, tier, priority: tier, itl });
  });

  test('within its class the priority that it asks for', async () => {
    expect((await granted('ann', { priority: 3 })).priority).toBe(-7);
    expect((await granted('ann', { priority: 99 })).priority).toBe(-1);
    expect((await granted('cat', { priority: 2 })).priority).toBe(1002);
  });

  test.each([
    ['ann', -10, -10],
    ['ben', 0, 0],
    ['cat', 1000, 1000],
  ])('for embeddings what its key has: %s', async (who, tier, priority) => {
    const target = await server({ keys: keys() });
    await (await post(target, '/v1/embeddings', { input: 'Hi', priority: -99 }, of(who))).text();
    expect(target.engine.requests).toMatchObject([{ tier, priority }]);
  });

  test('the same by chat and by the Responses API', async () => {
    const messages = [{ role: 'user', content: 'Hi' }];
    const asked = { service_tier: 'priority' };
    const got = { told: 'priority', tier: -10, priority: -10, itl: 42.5 };
    expect(await granted('ann', asked, '/v1/chat/completions', { messages })).toEqual(got);
    expect(await granted('ann', asked, '/v1/responses', { input: 'Hi' })).toEqual(got);
    expect(await granted('ben', asked, '/v1/responses', { input: 'Hi' })).toMatchObject({
      told: 'default',
      tier: 0,
    });
  });
});

test('each chunk of a stream tells the class, as openai reads it', async () => {
  const target = await server({ keys: keys() });
  const client = new OpenAI({ baseURL: `${target.url}/v1`, apiKey: 'key-ben' });
  const stream = await client.chat.completions.create({
    model: MODEL,
    messages: [{ role: 'user', content: 'Hi' }],
    service_tier: 'priority',
    stream: true,
  });
  const told = new Set<unknown>();
  for await (const chunk of stream) told.add(chunk.service_tier);
  expect([...told]).toEqual(['default']);
});

test('a class that there is not is refused, naming those that there are', async () => {
  const answer = await post(await server(), PATH, { ...body, service_tier: 'gold' });
  expect(await errorOf(answer, 400)).toMatchObject({
    param: 'service_tier',
    message:
      '`service_tier`: expected one of auto, ultra-low, priority, interactive, default, standard, flex, batch.',
  });
});

test('without keys everybody has what the operator leaves to all', async () => {
  const open = await server({ classes: serviceClasses({}, { best: 'interactive' }) });
  await (await post(open, PATH, { ...body, service_tier: 'ultra-low' })).text();
  await (await post(open, PATH, body)).text();
  expect(open.engine.requests.map(({ tier }) => tier)).toEqual([-10, 0]);
});

test('the deadline of a class ends a request, and does not lengthen its own', async () => {
  const target = await server({
    classes: serviceClasses({ standard: { deadlineMs: 150 } }),
    engine: { heldAfter: 1 },
  });
  const answer = await post(target, PATH, { ...body, max_tokens: 100, timeout: 3600 });
  expect((await errorOf(answer, 504)).code).toBe('request_timeout');
});

test('a key whose class is gone has what everybody has', () => {
  const tiers = new ServiceTiers(serviceClasses(), () => 'gone');
  expect(tiers.grant('ann', 'priority').name).toBe('standard');
});

test.each([
  [
    'ann key class=gold',
    "line 1: there is no service class 'gold'; there are ultra-low, interactive",
  ],
  ['ann key class=batch class=batch', 'expected `name key`'],
  ['ann key class=', 'expected `name key`'],
])('a key file with %s is refused', (text, message) => {
  expect(() => parseApiKeys(text, names)).toThrow(message);
});
