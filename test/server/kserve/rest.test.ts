/** The Open Inference Protocol over REST: probes, metadata, infer, generate, statistics. */
import { expect, test } from 'vitest';
import { z } from 'zod';
import { eventsOf, post, type Target } from '../support/client.ts';
import { babbles, MODEL, says, useServers } from '../support/test-server.ts';

const server = useServers();

const error = z.strictObject({ error: z.string().min(1), code: z.string().optional() });

async function expectRefusal(response: Response, status: number): Promise<string> {
  const json: unknown = await response.json();
  expect({ status: response.status, json }).toMatchObject({ status });
  return error.parse(json).error;
}

async function expectJson(response: Response): Promise<unknown> {
  const body: unknown = await response.json();
  expect({ status: response.status, body }).toMatchObject({ status: 200 });
  return body;
}

const get = async (target: Target, path: string) => expectJson(await fetch(target.url + path));

const text = (...texts: string[]) => ({
  name: 'text_input',
  datatype: 'BYTES',
  shape: [texts.length],
  data: texts,
});

const flag = (name: string, value: boolean) => ({
  name,
  datatype: 'BOOL',
  shape: [1],
  data: [value],
});

const sampling = (parameters: object) => ({
  name: 'sampling_parameters',
  datatype: 'BYTES',
  shape: [1],
  data: [JSON.stringify(parameters)],
});

const infer = (target: Target, body: object, path = `/v2/models/${MODEL}/infer`) =>
  post(target, path, body);

test('server and model describe themselves', async () => {
  const target = await server();
  expect(await get(target, '/v2')).toMatchObject({ name: 'chairlift', version: '1.2.3' });
  expect(await get(target, '/v2/health/live')).toEqual({ live: true });
  expect(await get(target, '/v2/health/ready')).toEqual({ ready: true });
  expect(await get(target, `/v2/models/${MODEL}/ready`)).toEqual({ name: MODEL, ready: true });
  const metadata = await get(target, `/v2/models/${MODEL}`);
  expect(metadata).toMatchObject({
    name: MODEL,
    versions: ['1'],
    inputs: expect.arrayContaining([{ name: 'text_input', datatype: 'BYTES', shape: [-1] }]),
    outputs: expect.arrayContaining([{ name: 'text_output', datatype: 'BYTES', shape: [-1] }]),
  });
  expect(await get(target, `/v2/models/${MODEL}/versions/1`)).toEqual(metadata);
  expect(await get(target, `/v2/models/${MODEL}/config`)).toMatchObject({
    max_batch_size: 0,
    model_transaction_policy: { decoupled: true },
  });
});

test('vectors may be asked for with the inputs that shape text', async () => {
  const target = await server();
  const outputs = [{ name: 'embedding' }];
  const plain = await (await infer(target, { inputs: [text('Hi')], outputs })).json();
  const inputs = [text('Hi'), sampling({ temperature: 0 }), flag('stream', false)];
  const response = await infer(target, { inputs, outputs });
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual(plain);
  const bad = [text('Hi'), sampling({ temperature: 'hot' })];
  await expectRefusal(await infer(target, { inputs: bad, outputs }), 400);
});

test('probes while the engine is not there', async () => {
  const target = await server({ state: 'failed' });
  await expectRefusal(await fetch(`${target.url}/v2/health/live`), 503);
  await expectRefusal(await fetch(`${target.url}/v2/health/ready`), 503);
  await expectRefusal(await fetch(`${target.url}/v2/models/${MODEL}/ready`), 503);
});

test('infer answers with as many texts as it got', async () => {
  const target = await server({ script: says('Hello!') });
  const answer = await expectJson(
    await infer(target, {
      id: 'a',
      inputs: [text('Hi ', 'Ho '), sampling({ max_tokens: 20 })],
      outputs: [{ name: 'text_output' }, { name: 'finish_reason' }, { name: 'num_output_tokens' }],
    }),
  );
  expect(answer).toEqual({
    id: 'a',
    model_name: MODEL,
    model_version: '1',
    outputs: [
      { name: 'text_output', datatype: 'BYTES', shape: [2], data: ['Hi Hello!', 'Ho Hello!'] },
      { name: 'finish_reason', datatype: 'BYTES', shape: [2], data: ['stop', 'stop'] },
      { name: 'num_output_tokens', datatype: 'UINT32', shape: [2], data: [7, 7] },
    ],
  });
});

test('parameters reach the engine, also those that are written as texts', async () => {
  const target = await server();
  const parameters = { temperature: '0.5', top_p: 0.75, max_tokens: '3', ignore_eos: 'True' };
  const inputs = [text('Hi'), flag('exclude_input_in_output', true), sampling(parameters)];
  expect(await expectJson(await infer(target, { inputs }))).toMatchObject({
    outputs: [{ data: ['Hel'] }],
  });
  expect(target.engine.requests[0]).toMatchObject({
    maxTokens: 3,
    sampling: { temperature: 0.5, topP: 0.75 },
  });
});

test('the binary extension, in and out', async () => {
  const target = await server({ script: says('Hello!') });
  const element = (value: string) => {
    const bytes = Buffer.from(value);
    const length = Buffer.alloc(4);
    length.writeUInt32LE(bytes.length);
    return Buffer.concat([length, bytes]);
  };
  const tail = Buffer.concat([element('Hi '), Buffer.from([1])]);
  const head = Buffer.from(
    JSON.stringify({
      inputs: [
        {
          name: 'text_input',
          datatype: 'BYTES',
          shape: [1],
          parameters: { binary_data_size: tail.length - 1 },
        },
        {
          name: 'exclude_input_in_output',
          datatype: 'BOOL',
          shape: [1],
          parameters: { binary_data_size: 1 },
        },
      ],
      parameters: { binary_data_output: true },
    }),
  );
  const response = await fetch(`${target.url}/v2/models/${MODEL}/infer`, {
    method: 'POST',
    headers: { 'inference-header-content-length': String(head.length) },
    body: Buffer.concat([head, tail]),
  });
  const length = Number(response.headers.get('inference-header-content-length'));
  const body = Buffer.from(await response.arrayBuffer());
  expect(JSON.parse(body.subarray(0, length).toString())).toMatchObject({
    outputs: [{ name: 'text_output', parameters: { binary_data_size: 10 } }],
  });
  expect(body.subarray(length)).toEqual(element('Hello!'));
});

test.each<[string, object, RegExp]>([
  ['no inputs', {}, /`inputs` is required/],
  ['no text', { inputs: [] }, /`text_input` is required/],
  [
    'more data than the shape says',
    { inputs: [{ ...text('a', 'b'), shape: [1] }] },
    /1 elements, but its data 2/,
  ],
  [
    'a shape of more than there is',
    { inputs: [{ ...text('a'), shape: [2 ** 20, 2 ** 20] }] },
    /but its data 1/,
  ],
  [
    'a shape beyond numbers',
    { inputs: [{ ...text('a'), shape: [2 ** 40, 2 ** 40] }] },
    /too large/,
  ],
  ['a negative shape', { inputs: [{ ...text('a'), shape: [-1] }] }, /whole numbers/],
  ['too many dimensions', { inputs: [{ ...text('a'), shape: Array(9).fill(1) }] }, /at most 8/],
  ['too many tensors', { inputs: Array(65).fill(text('a')) }, /at most 64/],
  ['the same tensor twice', { inputs: [text('a'), text('b')] }, /same name/],
  ['an unknown tensor', { inputs: [text('a'), flag('other', true)] }, /no such input/],
  ['an unknown type', { inputs: [{ ...text('a'), datatype: 'STRING' }] }, /no datatype/],
  ['another type', { inputs: [{ ...text('a'), datatype: 'INT8', data: [1] }] }, /type BYTES/],
  ['numbers as texts', { inputs: [{ ...text('a'), data: [1] }] }, /must be strings/],
  [
    'a flag that is none',
    { inputs: [text('a'), { ...flag('stream', true), data: [2] }] },
    /no BOOL/,
  ],
  [
    'half precision in JSON',
    { inputs: [text('a'), { ...flag('stream', true), datatype: 'FP16' }] },
    /raw bytes only/,
  ],
  ['no text at all', { inputs: [{ ...text(), shape: [0] }] }, /holds no text/],
  [
    'a stream',
    { inputs: [text('a'), flag('stream', true), flag('exclude_input_in_output', true)] },
    /no stream/,
  ],
  ['bad sampling', { inputs: [text('a'), sampling({ temperature: 9 })] }, /`temperature`/],
  [
    'sampling that is a list',
    { inputs: [text('a'), { ...sampling({}), data: ['[]'] }] },
    /JSON object/,
  ],
  [
    'sampling that is no JSON',
    { inputs: [text('a'), { ...sampling({}), data: ['{'] }] },
    /not valid JSON/,
  ],
  [
    'sampling too deep',
    { inputs: [text('a'), { ...sampling({}), data: ['['.repeat(99)] }] },
    /levels/,
  ],
  ['many answers', { inputs: [text('a'), sampling({ n: 2 })] }, /one answer/],
  ['an unknown output', { inputs: [text('a')], outputs: [{ name: 'x' }] }, /no output `x`/],
  ['parameters that are objects', { inputs: [text('a')], parameters: { a: {} } }, /`parameters`/],
  [
    'bytes that are not there',
    { inputs: [{ ...text('a'), parameters: { binary_data_size: 9 } }] },
    /more than the bytes/,
  ],
  ['a text too long', { inputs: [text('a'.repeat(300))] }, /maximum context length/],
  ['more texts than fit', { inputs: [text(...Array<string>(200).fill('a'))] }, /at most 128/],
])('400 for %s', async (_, body, message) => {
  const target = await server();
  expect(await expectRefusal(await infer(target, body), 400)).toMatch(message);
  expect(target.engine.requests).toHaveLength(0);
});

test.each([
  ['shorter than they say', Buffer.from([255, 255, 255, 127, 65]), 'BYTES', /longer than/],
  ['of too many elements', Buffer.alloc(4 * 65_537), 'BYTES', /more than 65536/],
  ['of half a number', Buffer.alloc(3), 'FP32', /whole number of FP32/],
])('400 for raw bytes %s', async (_, raw, datatype, message) => {
  const target = await server();
  const head = JSON.stringify({
    inputs: [
      { name: 'text_input', datatype, shape: [1], parameters: { binary_data_size: raw.length } },
    ],
  });
  const response = await fetch(`${target.url}/v2/models/${MODEL}/infer`, {
    method: 'POST',
    headers: { 'inference-header-content-length': String(head.length) },
    body: Buffer.concat([Buffer.from(head), raw]),
  });
  expect(await expectRefusal(response, 400)).toMatch(message);
});

test('unknown models and versions', async () => {
  const target = await server();
  const body = { inputs: [text('a')] };
  expect(await expectRefusal(await infer(target, body, '/v2/models/none/infer'), 404)).toContain(
    'none',
  );
  const other = `/v2/models/${MODEL}/versions/2`;
  await expectRefusal(await infer(target, body, `${other}/infer`), 404);
  await expectRefusal(await fetch(`${target.url}${other}/stats`), 404);
  await expectRefusal(await fetch(`${target.url}/v2/models/none/ready`), 404);
  await expectRefusal(await fetch(`${target.url}/v2/nothing`), 404);
  await expectJson(await infer(target, body, `/v2/models/${MODEL}/versions/1/infer`));
});

test('generate, whole and as events', async () => {
  const target = await server({ script: says('Hi!') });
  const body = { text_input: 'Say: ', parameters: { max_tokens: 9, details: true } };
  expect(await expectJson(await post(target, `/v2/models/${MODEL}/generate`, body))).toEqual({
    model_name: MODEL,
    model_version: '1',
    text_output: 'Say: Hi!',
    details: { finish_reason: 'eos_token' },
  });
  const events = await eventsOf(await post(target, `/v2/models/${MODEL}/generate_stream`, body));
  const pieces = events.map((event) =>
    z.looseObject({ text_output: z.string() }).parse(JSON.parse(event)),
  );
  expect(pieces.map((piece) => piece.text_output).join('')).toBe('Hi!');
  expect(pieces.at(-1)).toMatchObject({ details: { finish_reason: 'eos_token' } });
  await expectRefusal(await post(target, `/v2/models/${MODEL}/generate`, { parameters: {} }), 400);
  await expectRefusal(
    await post(target, `/v2/models/${MODEL}/generate`, { ...body, parameters: { stream: true } }),
    400,
  );
});

test('a client that leaves frees its place', async () => {
  const target = await server({ script: babbles, maxModelLen: 100_000, concurrency: 1 });
  const leave = new AbortController();
  const parameters = { max_tokens: 90_000 };
  const response = await post(
    target,
    `/v2/models/${MODEL}/generate_stream`,
    { text_input: 'a', parameters },
    { signal: leave.signal },
  );
  await response.body?.getReader().read();
  leave.abort();
  await expect.poll(() => target.engine.running).toBe(0);
  expect(target.engine.aborted).toBe(1);
});

test('statistics count what was generated and what failed', async () => {
  const target = await server();
  await expectJson(await infer(target, { inputs: [text('a', 'b')] }));
  const stats = z.object({
    model_stats: z.array(
      z.looseObject({
        name: z.string(),
        version: z.string(),
        inference_count: z.number(),
        last_inference: z.number(),
        inference_stats: z.record(z.string(), z.object({ count: z.number(), ns: z.number() })),
      }),
    ),
  });
  const [mine] = stats.parse(await get(target, '/v2/models/stats')).model_stats;
  expect(mine).toMatchObject({ name: MODEL, version: '1', inference_count: 2 });
  expect(mine?.inference_stats['success']).toMatchObject({ count: 2 });
  expect(mine?.inference_stats['success']?.ns).toBeGreaterThan(0);
  expect(mine?.inference_stats['fail']).toEqual({ count: 0, ns: 0 });
  expect(await get(target, `/v2/models/${MODEL}/versions/1/stats`)).toEqual({
    model_stats: [mine],
  });
});

test('keys: probes are open, all else is not', async () => {
  const target = await server({ config: { apiKeys: ['key'] } });
  for (const path of ['/v2', '/v2/health/live', '/v2/health/ready']) await get(target, path);
  for (const path of [`/v2/models/${MODEL}`, `/v2/models/${MODEL}/ready`, '/v2/models/stats']) {
    await expectRefusal(await fetch(target.url + path), 401);
  }
  await expectRefusal(await infer(target, { inputs: [text('a')] }), 401);
});

test('web pages cannot leave out the media type', async () => {
  const target = await server();
  const body = Buffer.from(JSON.stringify({ inputs: [text('a')] }));
  const url = `${target.url}/v2/models/${MODEL}/infer`;
  const plain = await fetch(url, { method: 'POST', body });
  await expectJson(plain);
  const headers = { origin: 'https://page.example' };
  await expectRefusal(await fetch(url, { method: 'POST', body, headers }), 415);
  const unload = `${target.url}/v2/repository/models/${MODEL}/unload`;
  await expectRefusal(await fetch(unload, { method: 'POST', headers }), 403);
});
