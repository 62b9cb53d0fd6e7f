/** /v1/files and /v1/batches, as openai's client sees them. */
import { once } from 'node:events';
import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { Agent, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { APIError } from 'openai';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { LIMITS } from '../../../src/limits.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { errorOf, post } from '../support/client.ts';
import { babbles, MODEL, says, useServers } from '../support/test-server.ts';
import { clientOf, ended, line, lines, resultsOf, start, upload, useServices } from './support.ts';

const server = useServers();
const service = useServices();
const two = { config: { apiKeys: ['key-a', 'key-b'] } };

async function statusOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
    return 200;
  } catch (error) {
    return error instanceof APIError ? error.status : error;
  }
}

describe('files', () => {
  test('are uploaded, listed, read and deleted', async () => {
    const client = clientOf(await server({ batches: await service() }));
    const text = lines(3);
    const file = await upload(client, text);
    expect(file).toMatchObject({
      object: 'file',
      purpose: 'batch',
      filename: 'in.jsonl',
      bytes: text.length,
      status: 'processed',
    });
    expect((file.expires_at ?? 0) - file.created_at).toBe(30 * 86_400);
    expect(await client.files.retrieve(file.id)).toEqual(file);
    const second = await upload(client, 'x');
    const listed = await client.files.list();
    expect(listed.data.map(({ id }) => id)).toEqual([second.id, file.id]);
    const page = await client.files.list({ limit: 1, order: 'asc' });
    expect([page.data.map(({ id }) => id), page.has_more]).toEqual([[file.id], true]);
    const next = await page.getNextPage();
    expect(next.data.map(({ id }) => id)).toEqual([second.id]);
    expect(await (await client.files.content(file.id)).text()).toBe(text);
    expect(await client.files.delete(file.id)).toEqual({
      id: file.id,
      object: 'file',
      deleted: true,
    });
    expect(await statusOf(client.files.retrieve(file.id))).toBe(404);
  });

  test('belong to the key that made them', async () => {
    const target = await server({ ...two, batches: await service() });
    const [a, b] = [clientOf(target, 'key-a'), clientOf(target, 'key-b')];
    const { id } = await upload(a, lines(1));
    const batch = await start(a, lines(1));
    await ended(a, batch.id);
    const messageOf = (error: Error) => error.message;
    const unknown = await b.files.retrieve('file-0').then(String, messageOf);
    for (const attempt of [
      () => b.files.retrieve(id),
      () => b.files.content(id),
      () => b.files.delete(id),
      () => b.batches.retrieve(batch.id),
      () => b.batches.cancel(batch.id),
      () =>
        b.batches.create({
          input_file_id: id,
          endpoint: '/v1/completions',
          completion_window: '24h',
        }),
    ]) {
      expect(await statusOf(attempt())).toBe(404);
    }
    const hidden = await b.files.retrieve(id).then(String, messageOf);
    expect(hidden).toBe(unknown.replace('file-0', id));
    expect((await b.files.list()).data).toEqual([]);
    expect((await b.batches.list()).data).toEqual([]);
    expect((await a.files.list()).data.length).toBeGreaterThan(1);
  });

  test('are named by us on the disk, whatever clients call them', async () => {
    const batches = await service();
    const target = await server({ batches });
    const form = new FormData();
    form.set('purpose', 'batch');
    form.set('file', new Blob(['x']), '../../../tmp/evil.jsonl');
    const answer = await fetch(`${target.url}/v1/files`, { method: 'POST', body: form });
    const { id } = JSON.parse(await answer.text());
    expect(batches.files.pathOf(id)).toMatch(/files\/file-[0-9a-f]{32}\.jsonl$/);
    expect(await readFile(batches.files.pathOf(id), 'utf8')).toBe('x');
  });

  test('take their share of the disk, and no more than a file may have', async () => {
    const batches = await service({ maxBytes: 3000 });
    const target = await server({ batches });
    const client = clientOf(target);
    await upload(client, 'x'.repeat(1500));
    await expect(upload(client, 'x'.repeat(1000))).rejects.toThrow(/much of the disk/);
    await client.files.delete((await client.files.list()).data[0]?.id ?? '');
    await upload(client, 'x'.repeat(1000));
    // Refused files left nothing.
    expect((await client.files.list()).data).toHaveLength(1);
  });

  test('in pieces of one byte are cut, and leave no draft', async () => {
    const folder = await temporaryDirectory();
    const { url } = await server({ batches: await service({ folder }) });
    const { port } = new URL(url);
    const asking = request({ port, path: '/v1/files', method: 'POST' });
    asking.setHeader('content-type', 'multipart/form-data; boundary=b');
    asking.on('error', () => {});
    asking.write('--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n');
    const closed = new Promise((resolve) => {
      asking.once('close', resolve);
    });
    const pieces = setInterval(() => {
      for (let index = 0; index < 500; index++) asking.write('x');
    }, 1);
    await closed;
    clearInterval(pieces);
    await vi.waitFor(async () => {
      const files = await readdir(folder, { recursive: true });
      expect(files.filter((name) => name.endsWith('.draft'))).toEqual([]);
    });
  });

  test('leave their connection to the next request where they are refused', async () => {
    const target = await server({ batches: await service({ maxBytes: 3000 }) });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const boundary = 'the-boundary';
    const part = `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n`;
    const body = `${part}${'x'.repeat(4 * 2 ** 20)}\r\n--${boundary}--\r\n`;
    for (let count = 0; count < 5; count++) {
      const sent = request(`${target.url}/v1/files`, {
        agent,
        method: 'POST',
        headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
        timeout: 10_000,
      });
      sent.on('timeout', () => sent.destroy(new Error('no answer')));
      // Once it has answered, the server may close the connection before the rest of the body is written.
      sent.on('error', () => {});
      sent.end(body);
      const [answer] = (await once(sent, 'response')) as [IncomingMessage];
      expect(await json(answer)).toMatchObject({ error: { code: 'storage_full' } });
    }
    agent.destroy();
  });

  test.each([
    [{ purpose: 'assistants', file: 'x' }, 400, 'purpose'],
    [{ file: 'x' }, 400, 'purpose'],
    [{ purpose: 'batch' }, 400, 'file'],
    [{ purpose: 'batch', file: 'x', 'expires_after[seconds]': '1' }, 400, 'expires_after[seconds]'],
  ])('are refused: %j', async (fields, status, param) => {
    const batches = await service();
    const { url } = await server({ batches });
    const form = new FormData();
    for (const [name, value] of Object.entries(fields)) {
      form.set(name, name === 'file' ? new Blob([value]) : value);
    }
    const answer = await fetch(`${url}/v1/files`, { method: 'POST', body: form });
    expect((await errorOf(answer, status)).param).toBe(param);
    expect(batches.files.list('')).toEqual([]);
  });

  test('of web pages are refused, which can send forms without asking', async () => {
    const batches = await service();
    const { url } = await server({ batches });
    const form = () => {
      const fields = new FormData();
      fields.set('purpose', 'batch');
      fields.set('file', new Blob(['x']));
      return fields;
    };
    const from = (origin: string, path = '/v1/files', body: FormData | null = form()) =>
      fetch(`${url}${path}`, { method: 'POST', body, headers: { origin } });
    const evil = 'https://evil.example';
    expect((await errorOf(await from(evil), 403)).code).toBe('origin_not_allowed');
    await errorOf(await from(evil, '/v1/batches/batch_0/cancel', null), 403);
    expect(batches.files.list('')).toEqual([]);
    expect((await from(url)).status).toBe(200);
  });

  test('need a form', async () => {
    const target = await server({ batches: await service() });
    expect((await errorOf(await post(target, '/v1/files', {}), 415)).code).toBe(
      'unsupported_media_type',
    );
    const answer = await fetch(`${target.url}/v1/files`, {
      method: 'POST',
      body: '--x\r\nnothing of a form',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
    });
    expect((await errorOf(answer, 400)).code).toBe('invalid_form');
  });
});

describe('a batch', () => {
  test('gives each line one result', async () => {
    const target = await server({ batches: await service(), script: says('Hello!') });
    const client = clientOf(target);
    const { id } = await start(client, lines(30));
    const batch = await ended(client, id);
    expect(batch).toMatchObject({
      object: 'batch',
      status: 'completed',
      model: MODEL,
      error_file_id: null,
      errors: null,
      request_counts: { total: 30, completed: 30, failed: 0 },
    });
    const results = await resultsOf(client, batch.output_file_id);
    const ids = results.map(({ custom_id }) => custom_id).toSorted();
    expect(ids).toEqual(Array.from({ length: 30 }, (_, index) => `line-${index}`).toSorted());
    expect(new Set(results.map((result) => result.id)).size).toBe(30);
    expect(results[0]?.response).toMatchObject({
      status_code: 200,
      body: { object: 'text_completion', choices: [{ text: 'Hello!', finish_reason: 'stop' }] },
    });
    expect(batch.usage).toMatchObject({ output_tokens: 30 * 7, total_tokens: expect.any(Number) });
    // The lowest class, whatever the line asks for.
    expect(new Set(target.engine.requests.map(({ tier }) => tier))).toEqual(new Set([1000]));
    expect(target.engine.requests).toHaveLength(30);
  });

  test('runs chats too, and puts what fails in a file of its own', async () => {
    const client = clientOf(await server({ batches: await service() }));
    const chat = (custom_id: string, body: object) =>
      JSON.stringify({ custom_id, method: 'POST', url: '/v1/chat/completions', body });
    const messages = [{ role: 'user', content: 'Hi' }];
    const text = [
      chat('good', { messages, service_tier: 'priority' }),
      chat('bad', { messages: [] }),
      chat('streamed', { messages, stream: true }),
      '',
    ].join('\n');
    const { id: input_file_id } = await upload(client, text);
    const { id } = await client.batches.create({
      input_file_id,
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
      metadata: { of: 'mine' },
    });
    const batch = await ended(client, id);
    expect(batch.metadata).toEqual({ of: 'mine' });
    expect(batch.request_counts).toEqual({ total: 3, completed: 1, failed: 2 });
    const [good] = await resultsOf(client, batch.output_file_id);
    expect(good?.response?.body).toMatchObject({
      object: 'chat.completion',
      service_tier: 'flex',
    });
    const failed = await resultsOf(client, batch.error_file_id);
    expect(failed.map(({ custom_id, response }) => [custom_id, response?.status_code])).toEqual(
      expect.arrayContaining([
        ['bad', 400],
        ['streamed', 400],
      ]),
    );
  });

  test.each([
    ['', 'empty_file', null],
    ['{"custom_id": "a"', 'invalid_json_line', 1],
    [`${line(0)}\n${line(0)}\n`, 'duplicate_custom_id', 2],
    [`${line(0)}\n${line(1, { model: 'other' })}\n`, 'mismatched_model', 2],
    [line(0).replace('POST', 'GET'), 'invalid_value', 1],
    [line(0).replace('/v1/completions', '/v1/embeddings'), 'mismatched_url', 1],
    [line(0, {}, ''), 'invalid_value', 1],
    [`{"custom_id":"a","x":"${'x'.repeat(LIMITS.batchLineBytes)}"}\n`, 'line_too_long', 1],
    ['['.repeat(100), 'invalid_json_line', 1],
  ])('fails before anything runs: %.40s', async (text, code, at) => {
    const target = await server({ batches: await service() });
    const client = clientOf(target);
    const { id } = await start(client, text === '' ? '\n' : text);
    const batch = await ended(client, id);
    expect(batch.status).toBe('failed');
    const [first] = batch.errors?.data ?? [];
    expect({ code: first?.code, line: first?.line }).toEqual({
      code: text === '' ? 'empty_file' : code,
      line: at,
    });
    expect(target.engine.requests).toEqual([]);
    expect([batch.output_file_id, batch.error_file_id]).toEqual([null, null]);
  });

  test('is refused for a file that is not there, an API that has none, another window', async () => {
    const target = await server({ batches: await service() });
    const client = clientOf(target);
    const { id } = await upload(client, lines(1));
    const body = { input_file_id: id, endpoint: '/v1/completions', completion_window: '24h' };
    for (const [change, status, param] of [
      [{ input_file_id: 'file-0' }, 404, 'input_file_id'],
      [{ endpoint: '/v1/messages' }, 400, 'endpoint'],
      [{ completion_window: '1h' }, 400, 'completion_window'],
      [{ metadata: 3 }, 400, 'metadata'],
    ] as const) {
      const answer = await post(target, '/v1/batches', { ...body, ...change });
      expect((await errorOf(answer, status)).param).toBe(param);
    }
  });

  test('is cancelled with what it has done', async () => {
    const target = await server({
      batches: await service({ maxInFlight: 2 }),
      script: says('Hello!'),
      engine: { heldAfter: 1, numFree: 5 },
    });
    const client = clientOf(target);
    const { id } = await start(client, lines(40));
    await vi.waitFor(async () => {
      const { request_counts: counts } = await client.batches.retrieve(id);
      expect(counts?.completed).toBe(5);
    });
    const input = (await client.files.list({ purpose: 'batch' })).data[0]?.id ?? '';
    await expect(client.files.delete(input)).rejects.toThrow(/has not ended/);
    const cancelling = await client.batches.cancel(id);
    expect(cancelling.status).toBe('cancelling');
    expect(cancelling.cancelling_at).toBeGreaterThan(0);
    const batch = await ended(client, id);
    expect(batch.status).toBe('cancelled');
    const results = await resultsOf(client, batch.output_file_id);
    expect(results).toHaveLength(batch.request_counts?.completed ?? -1);
    expect(results).toHaveLength(5);
    const numRequests = target.engine.requests.length;
    await client.batches.cancel(id);
    expect(await client.batches.retrieve(id)).toEqual(batch);
    expect(target.engine.requests).toHaveLength(numRequests);
  });

  test('is cancelled before it has run anything', async () => {
    // One batch of a client runs at a time: the second waits.
    const batches = await service();
    const target = await server({ batches, script: babbles, engine: { heldAfter: 1 } });
    const client = clientOf(target);
    const first = await start(client, lines(2));
    const second = await start(client, lines(2));
    expect(await client.batches.cancel(second.id)).toMatchObject({ status: 'cancelling' });
    await client.batches.cancel(first.id);
    for (const { id } of [first, second]) {
      expect((await ended(client, id)).status).toBe('cancelled');
    }
  });

  test('may be of embeddings, as each line asks for them', async () => {
    const target = await server({ batches: await service() });
    const client = clientOf(target);
    const url = '/v1/embeddings';
    const many = Array.from({ length: 257 }, (_, index) => `Text ${index}`);
    const text = [
      line(0, { input: 'Hello' }, 'one', url),
      line(1, { input: ['Hello', 'A cat'], encoding_format: 'base64' }, 'two', url),
      line(2, { input: many }, 'many', url),
    ].join('\n');
    const batch = await ended(client, (await start(client, text, url)).id);
    expect(batch).toMatchObject({
      status: 'completed',
      request_counts: { completed: 2, failed: 1 },
    });
    const results = await resultsOf(client, batch.output_file_id);
    const bodyOf = (id: string) => results.find((each) => each.custom_id === id)?.response?.body;
    const [direct, both] = await Promise.all([
      post(target, url, { input: 'Hello' }),
      post(target, url, { input: ['Hello', 'A cat'], encoding_format: 'base64' }),
    ]);
    expect(bodyOf('one')).toEqual(await direct.json());
    expect(bodyOf('two')).toEqual(await both.json());
    const tokens = 2 * 'Hello'.length + 'A cat'.length;
    expect(batch.usage).toMatchObject({ input_tokens: tokens, output_tokens: 0 });
    const [failed] = await resultsOf(client, batch.error_file_id);
    expect(failed).toMatchObject({ custom_id: 'many', response: { status_code: 400 } });
    // Behind what somebody waits for.
    const [batched] = target.engine.requests;
    expect(batched?.priority).toBeGreaterThan(target.engine.requests.at(-1)?.priority ?? 0);
  });

  test('may be of responses, which are kept only where they say so', async () => {
    const target = await server({ batches: await service(), script: says('Hello!') });
    const client = clientOf(target);
    const url = '/v1/responses';
    const hi = { prompt: undefined, input: 'Hi' };
    const text = [
      line(0, { ...hi }, 'plain', url),
      line(1, { ...hi, store: true }, 'kept', url),
      line(2, { ...hi, background: true }, 'background', url),
      line(3, { ...hi, stream: true }, 'streamed', url),
    ].join('\n');
    const batch = await ended(client, (await start(client, text, url)).id);
    expect(batch.request_counts).toMatchObject({ completed: 2, failed: 2 });
    const results = await resultsOf(client, batch.output_file_id);
    for (const { response } of results) {
      expect(response?.body).toMatchObject({
        object: 'response',
        status: 'completed',
        output: [{ content: [{ text: 'Hello!' }] }],
      });
    }
    expect(target.context.responses.size).toBe(1);
    expect(batch.usage).toMatchObject({ output_tokens: 2 * 7, input_tokens: expect.any(Number) });
  });

  test('expires after 24 hours, and says so of each line that was not run', async () => {
    let time = 1_700_000_000;
    // One of these looks at the time.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const batches = await service({ now: () => time, maxInFlight: 2 });
    const engine = { heldAfter: 1, numFree: 5 };
    const target = await server({ batches, script: says('Hello!'), engine });
    const client = clientOf(target);
    const { id } = await start(client, lines(30));
    await vi.waitFor(async () => {
      const { request_counts: counts } = await client.batches.retrieve(id);
      expect(counts?.completed).toBe(5);
    });
    time += 86_400;
    vi.advanceTimersByTime(60_000);
    const batch = await ended(client, id);
    expect([batch.status, batch.expired_at]).toEqual(['expired', time]);
    const [good, rest] = [
      await resultsOf(client, batch.output_file_id),
      await resultsOf(client, batch.error_file_id),
    ];
    expect(good.length + rest.length).toBe(30);
    expect(new Set([...good, ...rest].map(({ custom_id }) => custom_id)).size).toBe(30);
    expect(rest[0]).toMatchObject({ response: null, error: { code: 'batch_expired' } });
  });

  test('leaves places to others: they do not wait for it', async () => {
    const target = await server({
      batches: await service({ maxInFlight: 12 }),
      script: babbles,
      engine: { delayMs: 5 },
      concurrency: 2,
    });
    const client = clientOf(target);
    const many = Array.from({ length: 20 }, (_, index) => line(index, { max_tokens: 200 }));
    const { id } = await start(client, many.join('\n'));
    await vi.waitFor(() => expect(target.engine.requests.length).toBeGreaterThan(1));
    const answers = await Promise.all(
      [1, 2].map(() => post(target, '/v1/completions', { prompt: 'Hi', max_tokens: 3 })),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect((await client.batches.retrieve(id)).request_counts?.completed).toBeLessThan(20);
  });
});

test('a batch that begins while lines of another client end has all its results', async () => {
  const batches = await service({ maxInFlight: 4 });
  const target = await server({ ...two, batches, script: says('Hello!'), engine: { delayMs: 1 } });
  const [a, b] = [clientOf(target, 'key-a'), clientOf(target, 'key-b')];
  const long = await start(a, lines(600));
  for (let count = 0; count < 6; count++) {
    const { id } = await start(b, lines(3));
    expect((await ended(b, id)).request_counts?.completed).toBe(3);
  }
  await a.batches.cancel(long.id);
  await ended(a, long.id);
});

describe('after the process has ended', () => {
  test('what was done is not done again, and what a crash cut off is', async () => {
    const before = await service({ maxInFlight: 2 });
    const first = await server({
      batches: before,
      script: says('Hello!'),
      engine: { heldAfter: 1, numFree: 7 },
    });
    const { id } = await start(clientOf(first), lines(60));
    await vi.waitFor(async () => {
      const { request_counts: counts } = await clientOf(first).batches.retrieve(id);
      expect(counts?.completed).toBe(7);
    });
    const [record] = before.list('');
    const path = before.files.pathOf(record?.outputFileId ?? '');
    const folder = join(path, '../..');
    await before.close();
    const whole = await readFile(path, 'utf8');
    const numDone = whole.trimEnd().split('\n').length;
    await appendFile(path, '{"id": "batch_req_half of a li');
    await writeFile(join(folder, 'files', 'file-0.jsonl.draft'), 'of an upload that was cut off');

    const after = await service({ folder, maxInFlight: 2 });
    const second = await server({ batches: after, script: says('Hello!') });
    const client = clientOf(second);
    const batch = await ended(client, id);
    expect([batch.status, batch.request_counts]).toEqual([
      'completed',
      { total: 60, completed: 60, failed: 0 },
    ]);
    expect(second.engine.requests).toHaveLength(60 - numDone);
    const results = await resultsOf(client, batch.output_file_id);
    expect(results).toHaveLength(60);
    expect(new Set(results.map(({ custom_id }) => custom_id)).size).toBe(60);
    expect(batch.usage?.output_tokens).toBe(60 * 7);
    const left = await readdir(join(folder, 'files'));
    expect(left.filter((name) => name.includes('draft'))).toEqual([]);
  });

  test('one that was being cancelled ends', async () => {
    const before = await service({ maxInFlight: 1 });
    const first = await server({ batches: before, script: babbles, engine: { heldAfter: 1 } });
    const { id } = await start(clientOf(first), lines(5));
    await vi.waitFor(() => expect(first.engine.requests.length).toBeGreaterThan(0));
    const [record] = before.list('');
    const folder = join(before.files.pathOf(record?.outputFileId ?? ''), '../..');
    await before.close();
    // As the crash of a server leaves it that was asked to cancel.
    const stored = { ...record, status: 'cancelling', ending: 'cancelled' };
    await writeFile(join(folder, 'batches', `${id}.json`), JSON.stringify(stored));
    const second = await server({ batches: await service({ folder }) });
    const batch = await ended(clientOf(second), id);
    expect([batch.status, batch.request_counts?.completed]).toEqual(['cancelled', 0]);
    expect(second.engine.requests).toEqual([]);
  });

  test('the folder is of one process at a time', async () => {
    const held = await service();
    const folder = join(held.files.pathOf('x'), '../..');
    await expect(service({ folder })).rejects.toThrow(/another process uses/);
  });
});

test('without --batch-dir there are none', async () => {
  const target = await server();
  const answer = await fetch(`${target.url}/v1/files`);
  expect((await errorOf(answer, 501)).message).toContain('--batch-dir');
});
