/** Things a client stored, on a server that is started again with other keys. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { until } from '../support/processes.ts';
import { startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
const folder = await mkdtemp(join(tmpdir(), 'two-runs-'));
afterAll(async () => {
  await cache.remove();
  await rm(folder, { recursive: true, force: true });
});

/** A server for these keys; what is there is of the runs before. */
async function run(keys: string) {
  const server = await startServer([`--api-key=${keys}`, '--batch-dir', folder], cache.env);
  const ask = async (key: string, method: string, path: string, body?: object | FormData) => {
    const isForm = body instanceof FormData;
    const response = await fetch(server.url + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  };
  return { ask, stop: () => server.stop() };
}

const idOf = ({ text }: { readonly text: string }) => (JSON.parse(text) as { id: string }).id;

it('another key finds nothing of it, and its own finds all', async () => {
  const first = await run('alice,bob');
  const secret = 'the prompt of alice';
  const form = new FormData();
  form.set('purpose', 'batch');
  const line = {
    custom_id: 'a',
    method: 'POST',
    url: '/v1/completions',
    body: { prompt: secret, max_tokens: 4 },
  };
  form.set('file', new Blob([JSON.stringify(line)]), 'alice.jsonl');
  const file = idOf(await first.ask('alice', 'POST', '/v1/files', form));
  const create = { input_file_id: file, endpoint: '/v1/completions', completion_window: '24h' };
  const batch = idOf(await first.ask('alice', 'POST', '/v1/batches', create));
  const stateOf = async () => (await first.ask('alice', 'GET', `/v1/batches/${batch}`)).text;
  await until(async () => (await stateOf()).includes('"status":"completed"'), 'the end');
  const output = /"output_file_id":"([^"]+)"/.exec(await stateOf())?.[1] ?? '';
  const answer = await first.ask('alice', 'POST', '/v1/responses', { input: secret });
  expect(answer.status).toBe(200);
  const response = idOf(answer);
  const tries: readonly (readonly [string, string, object?])[] = [
    ...[file, output].flatMap((id) => [
      ['GET', `/v1/files/${id}`] as const,
      ['GET', `/v1/files/${id}/content`] as const,
      ['DELETE', `/v1/files/${id}`] as const,
    ]),
    ['POST', '/v1/batches', create],
    ['GET', `/v1/batches/${batch}`],
    ['POST', `/v1/batches/${batch}/cancel`],
    ['GET', `/v1/responses/${response}`],
    ['DELETE', `/v1/responses/${response}`],
  ];
  const expectNothing = async ({ ask }: Pick<typeof first, 'ask'>) => {
    for (const [method, path, body] of tries) {
      const { status } = await ask('bob', method, path, body);
      expect({ method, path, status }).toEqual({ method, path, status: 404 });
    }
    for (const path of ['/v1/files', '/v1/batches']) {
      expect(JSON.parse((await ask('bob', 'GET', path)).text)).toMatchObject({ data: [] });
    }
    const before = { input: 'Hi', previous_response_id: response };
    expect((await ask('bob', 'POST', '/v1/responses', before)).status).toBe(400);
  };
  await expectNothing(first);
  await first.stop();

  // In the place that was alice's.
  const second = await run('bob');
  await expectNothing(second);
  expect((await second.ask('alice', 'GET', '/v1/files')).status).toBe(401);
  await second.stop();

  const third = await run('carol,alice');
  expect((await third.ask('alice', 'GET', `/v1/files/${file}/content`)).text).toContain(secret);
  expect((await third.ask('alice', 'GET', `/v1/files/${output}/content`)).status).toBe(200);
  expect((await third.ask('alice', 'GET', `/v1/batches/${batch}`)).text).toContain('"completed"');
  expect((await third.ask('alice', 'DELETE', `/v1/files/${file}`)).status).toBe(200);
  await third.stop();
});
