/** Images on every chat API, for a model that sees and for one that does not. */
import { describe, expect, it, test, vi } from 'vitest';
import { LIMITS } from '../../src/limits.ts';
import { DOT } from '../support/images.ts';
import { useServices } from './batches/support.ts';
import { post } from './support/client.ts';
import { type TestServer, useServers } from './support/test-server.ts';
import { connect } from './support/web-socket.ts';

const server = useServers();
const service = useServices();
const MARK = '<image>';
const BASE64 = DOT.toString('base64');
const URL = `data:image/gif;base64,${BASE64}`;
const imageUrl = { type: 'image_url', image_url: { url: URL, detail: 'low' } };
const inputImage = { type: 'input_image', image_url: URL };
const block = { type: 'image', source: { type: 'base64', media_type: 'image/gif', data: BASE64 } };
const said = { role: 'user', content: 'Hi' };

interface Api {
  readonly path: string;
  /** Bodies, and where in them the field at fault is. */
  readonly body: (image: unknown) => object;
  readonly image: unknown;
  readonly broken: unknown;
  readonly field: string;
  readonly prompt: string;
}

const bad = (data = 'A') => `data:image/png;base64,${data}`;
const APIS: Readonly<Record<string, Api>> = {
  openai: {
    path: '/v1/chat/completions',
    body: (image) => ({
      messages: [said, { role: 'user', content: [{ type: 'text', text: 'See' }, image, imageUrl] }],
    }),
    image: imageUrl,
    broken: { type: 'image_url', image_url: bad() },
    field: 'messages.1.content.1.image_url',
    prompt: 'user: Hi\nuser: See\n<image>\n<image>\nassistant: ',
  },
  responses: {
    path: '/v1/responses',
    body: (image) => ({
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'See' }, image] }],
    }),
    image: inputImage,
    broken: { type: 'input_image', image_url: bad() },
    field: 'input',
    prompt: 'user: See\n<image>\nassistant: ',
  },
  anthropic: {
    path: '/v1/messages',
    body: (image) => ({
      max_tokens: 9,
      messages: [{ role: 'user', content: [image, { type: 'text', text: 'See' }] }],
    }),
    image: block,
    broken: { ...block, source: { ...block.source, data: 'A' } },
    field: 'messages.0.content.0.source.data',
    prompt: 'user: <image>\nSee\nassistant: ',
  },
  'ollama chat': {
    path: '/api/chat',
    body: (image) => ({ messages: [{ ...said, images: [image] }], stream: false }),
    image: BASE64,
    broken: 'A',
    field: 'messages.0.images.0',
    prompt: 'user: <image>\nHi\nassistant: ',
  },
  'ollama generate': {
    path: '/api/generate',
    body: (image) => ({ prompt: 'See', images: [image], stream: false }),
    image: BASE64,
    broken: 'A',
    field: 'images.0',
    prompt: 'user: <image>\nSee\nassistant: ',
  },
};

function promptOf({ engine, runtime }: TestServer): string {
  const promptTokenIds = engine.requests.at(-1)?.promptTokenIds ?? [];
  return runtime.tokenizer.decode(promptTokenIds, { skipSpecialTokens: false });
}

async function refusal(target: TestServer, path: string, body: object): Promise<string> {
  const response = await post(target, path, body);
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status: 400 });
  expect(target.engine.requests).toEqual([]);
  return text;
}

describe.each(Object.entries(APIS))('%s', (_, { path, body, image, broken, field, prompt }) => {
  it('takes images', async () => {
    const target = await server({ imageMark: MARK });
    const response = await post(target, path, body(image));
    expect([response.status, await response.text()]).toMatchObject([200, /Hello/]);
    expect(promptOf(target)).toBe(prompt);
  });

  it('refuses them for a model that does not see', async () => {
    expect(await refusal(await server(), path, body(image))).toContain('takes text only');
  });

  it('says which one is none', async () => {
    const told = await refusal(await server({ imageMark: MARK }), path, body(broken));
    expect(told).toContain(`\`${field}\``);
  });

  it('takes no more than there may be', async () => {
    const target = await server({ imageMark: MARK, images: { maxImages: 0 } });
    expect(await refusal(target, path, body(image))).toContain('at most 0 images');
  });
});

test('a text that spells the mark is no image', async () => {
  const target = await server({ imageMark: MARK });
  const content = [{ type: 'text', text: MARK }, imageUrl];
  await post(target, '/v1/chat/completions', { messages: [{ role: 'user', content }] });
  const isMark = (id: number) => target.runtime.tokenizer.idToToken(id) === MARK;
  const ids = [...(target.engine.requests[0]?.promptTokenIds ?? [])];
  expect(ids.filter(isMark)).toHaveLength(1);
});

describe('responses', () => {
  it('go on with a conversation that has images, and with outputs of tools that have', async () => {
    const target = await server({ imageMark: MARK });
    const first = await post(target, '/v1/responses', {
      input: [{ role: 'user', content: [inputImage] }],
    });
    const { id } = (await first.json()) as { id: string };
    const items = await fetch(`${target.url}/v1/responses/${id}/input_items`);
    expect(await items.json()).toMatchObject({
      data: [{ content: [{ type: 'input_image', image_url: URL, detail: 'auto' }] }],
    });
    await post(target, '/v1/responses', {
      previous_response_id: id,
      input: [
        { type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: [inputImage] },
      ],
    });
    expect(promptOf(target).split(MARK)).toHaveLength(3);
  });

  it.each([
    { role: 'system', content: [inputImage] },
    { role: 'assistant', content: [inputImage] },
    { role: 'user', content: [{ type: 'input_image' }] },
    { role: 'user', content: [{ ...inputImage, file_id: 'file-1' }] },
    { role: 'user', content: [{ ...inputImage, detail: 'huge' }] },
    { role: 'user', content: [{ type: 'input_image', image_url: { url: URL } }] },
  ])('refuse %j', async (item) => {
    const target = await server({ imageMark: MARK });
    expect(await refusal(target, '/v1/responses', { input: [item] })).toContain('`input.0');
  });
});

describe('messages of Anthropic', () => {
  it('have images in results of tools', async () => {
    const target = await server({ imageMark: MARK });
    const messages = [
      { role: 'user', content: [{ type: 'text', text: 'a' }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'look', input: {} }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 't', content: [block] }, block],
      },
    ];
    const body = { max_tokens: 9, messages };
    expect((await post(target, '/v1/messages', body)).status).toBe(200);
    expect(promptOf(target).split(MARK)).toHaveLength(3);
    const counted = await post(target, '/v1/messages/count_tokens', { messages });
    const { length } = target.engine.requests[0]?.promptTokenIds ?? [];
    expect(await counted.json()).toEqual({ input_tokens: length });
  });

  it.each([
    { role: 'system', content: [block] },
    { role: 'user', content: [{ type: 'image', source: { type: 'path', path: '/a' } }] },
    {
      role: 'user',
      content: [{ ...block, source: { ...block.source, media_type: 'image/svg+xml' } }],
    },
  ])('refuse %j', async (message) => {
    const body = { max_tokens: 9, messages: [message, said] };
    const target = await server({ imageMark: MARK });
    expect(await refusal(target, '/v1/messages', body)).toContain('`messages.0');
  });
});

test('files are those of the client, uploaded for it', async () => {
  const keys = { config: { apiKeys: ['key-of-a-client', 'key-of-another'] } };
  const target = await server({ imageMark: MARK, batches: await service(), ...keys });
  const upload = async (purpose: string, content: Uint8Array) => {
    const form = new FormData();
    form.set('purpose', purpose);
    form.set('file', new Blob([content]));
    const headers = { authorization: 'Bearer key-of-a-client' };
    const response = await fetch(`${target.url}/v1/files`, { method: 'POST', headers, body: form });
    return { status: response.status, ...((await response.json()) as { id: string }) };
  };
  const ask = async (key: string, id: string) => {
    const options = { headers: { authorization: `Bearer ${key}` } };
    const content = (part: object) => [{ role: 'user', content: [part] }];
    const input = content({ type: 'input_image', file_id: id });
    const messages = content({ type: 'image', source: { type: 'file', file_id: id } });
    const first = await post(target, '/v1/responses', { input }, options);
    const second = await post(target, '/v1/messages', { max_tokens: 9, messages }, options);
    return [first.status, second.status];
  };
  const image = await upload('vision', DOT);
  const batch = await upload('batch', DOT);
  expect(await ask('key-of-a-client', image.id)).toEqual([200, 200]);
  expect(await ask('key-of-another', image.id)).toEqual([400, 400]);
  expect(await ask('key-of-a-client', batch.id)).toEqual([400, 400]);
  expect(await ask('key-of-a-client', '../files/x')).toEqual([400, 400]);
  expect(await upload('vision', Buffer.alloc(LIMITS.imageBytes + 1))).toMatchObject({
    status: 413,
  });
});

test.each([true, false])('what a request held is given back, stream: %s', async (stream) => {
  const target = await server({ imageMark: MARK });
  const { images } = target.context;
  const ofRequest = images.ofRequest.bind(images);
  const released = vi.fn<() => void>();
  vi.spyOn(images, 'ofRequest').mockImplementation(() => {
    const own = ofRequest();
    return { ...own, release: () => (released(), own.release()) };
  });
  const messages = [{ role: 'user', content: [imageUrl] }];
  const response = await post(target, '/v1/chat/completions', { messages, stream });
  await response.text();
  await vi.waitFor(() => expect(released).toHaveBeenCalledOnce());
});

test('a WebSocket session takes images', async () => {
  const target = await server({ imageMark: MARK });
  const socket = await connect(target, '/v1/chat/completions');
  socket.send({ request_id: '1', stream: true, messages: [{ role: 'user', content: [imageUrl] }] });
  await socket.answer('1');
  expect(promptOf(target)).toBe('user: <image>\nassistant: ');
});

test('prompts are counted and shown with their images, and not computed ahead', async () => {
  const target = await server({ imageMark: MARK });
  const body = { messages: [{ role: 'user', content: [imageUrl] }] };
  const tokens = await post(target, '/tokenize', body);
  expect(await tokens.json()).toMatchObject({ count: 'user: .\nassistant: '.length });
  const shown = await post(target, '/apply-template', body);
  expect(await shown.json()).toMatchObject({ prompt: 'user: <image>\nassistant: ' });
  const input = [{ role: 'user', content: [inputImage] }];
  const counted = await post(target, '/v1/responses/input_tokens', { input });
  expect(await counted.json()).toMatchObject({ input_tokens: 'user: .\nassistant: '.length });
  expect(await refusal(target, '/v1/prefetch', body)).toContain('not computed ahead');
});

test.each([
  ['/api/generate', { prompt: 'a', images: [BASE64], raw: true }, 'images'],
  ['/api/chat', { messages: [said], images: [BASE64] }, 'images'],
  [
    '/v1/chat/completions',
    { messages: [{ role: 'user', content: [imageUrl] }], truncate_prompt_tokens: 5 },
    'truncate_prompt_tokens',
  ],
  ['/completion', { prompt: 'a', image_data: [{ data: BASE64, id: 1 }] }, 'image_data'],
])('%s refuses %j', async (path, body, field) => {
  expect(await refusal(await server({ imageMark: MARK }), path, body)).toContain(field);
});
