/** Models by Ollama's names: listed, loaded, unloaded, described, downloaded. */
import { describe, expect, test } from 'vitest';
import type { ModelFacts, PullModel } from '../../../src/server/context.ts';
import { InvalidRequestError } from '../../../src/front/invalid-request.ts';
import { ApiKeys, digestOf, unnamedKeys } from '../../../src/server/auth/api-keys.ts';
import { toHubReference, toRegistryName } from '../../../src/server/ollama/names.ts';
import { modelDefinition } from '../../front/registry/fake-loader.ts';
import { post } from '../support/client.ts';
import { MODEL, useServers } from '../support/test-server.ts';
import { all, clientOf, expectOllamaError } from './support.ts';
import { THINK } from '../../support/chat-formats.ts';

const server = useServers();
const models = [
  modelDefinition('a'),
  modelDefinition('story', {}, { version: '1' }),
  modelDefinition('story', {}, { version: '2' }),
];
const details = {
  family: 'llama',
  numParameters: 1_540_000_000,
  precision: 'int4',
  format: 'gguf',
  quantization: 'Q4_K_M',
  template: '{}',
};

const namesOf = (list: readonly { name: string }[]) => list.map(({ name }) => name);

describe('names', () => {
  test.each([
    ['summit', 'summit'],
    ['summit:latest', 'summit'],
    ['summit:2', 'summit@2'],
    ['summit@2', 'summit@2'],
    ['org/model:latest', 'org/model'],
    ['hf.co/org/model', 'org/model'],
    ['hf.co/org/model:latest', 'org/model'],
    ['hf:org/model', 'org/model'],
    ['llama3:8b', 'llama3:8b'],
    ['summit:x:2', 'summit:x@2'],
    [':2', ':2'],
  ])('%s is %s here', (name, registryName) => {
    expect(toRegistryName(name, [])).toBe(registryName);
  });

  test('a name with a tag of its own is taken as it is', () => {
    expect(toRegistryName('phi:3', [{ name: 'phi:3' }])).toBe('phi:3');
  });

  test.each([
    ['hf:org/model', 'hf:org/model'],
    ['hf.co/org/model:latest', 'hf:org/model'],
    ['huggingface.co/org/model:v1', 'hf:org/model@v1'],
    ['hf:org/model@v1', 'hf:org/model@v1'],
    ['hf.co/org/model:Q4_K_M', 'hf:org/model:Q4_K_M'],
    ['hf:org/model:IQ2_XS', 'hf:org/model:IQ2_XS'],
    ['hf:org/model:model-f16.gguf', 'hf:org/model:model-f16.gguf'],
    ['llama3', null],
    ['https://evil.example/model', null],
  ])('%s is %s on the hub', (name, reference) => {
    expect(toHubReference(name)).toBe(reference);
  });
});

test('the client is told of the server', async () => {
  const target = await server({ config: { apiKeys: ['key'] } });
  // Versions that VS Code (0.6.4) and Codex (0.13.4) ask for at least.
  const { version, ...ours } = await clientOf(target).version();
  const [major = 0, minor = 0] = version.split('.').map(Number);
  expect(major + minor / 100).toBeGreaterThan(0.13);
  expect(ours).toEqual({ chairlift: '1.2.3' });
  const running = await fetch(target.url);
  expect(await running.json()).toMatchObject({ status: 'Chairlift is running' });
  expect((await fetch(target.url, { method: 'HEAD' })).status).toBe(200);
  expect(await expectOllamaError(await fetch(`${target.url}/api/tags`), 401)).toContain('API key');
});

test('list and ps: all models, and those in memory', async () => {
  const ollama = clientOf(await server({ control: 'auto', models, keepAliveMs: 60_000 }));
  const { models: listed } = await ollama.list();
  expect(namesOf(listed)).toEqual(['a:latest', 'story:2', 'story:1']);
  for (const { digest } of listed) expect(digest).toMatch(/^[0-9a-f]{64}$/);
  expect((await ollama.ps()).models).toEqual([]);
  await ollama.chat({ model: 'story:1', messages: [{ role: 'user', content: 'Hi' }] });
  await ollama.generate({ model: 'a', prompt: 'Hi', keep_alive: -1 });
  const { models: loaded } = await ollama.ps();
  expect(namesOf(loaded)).toEqual(['a:latest', 'story:1']);
  const [never = 0, soon = 0] = loaded.map(({ expires_at: at }) => new Date(at).getTime());
  expect(never).toBeGreaterThan(Date.now() + 1e12);
  expect(soon).toBeGreaterThan(Date.now() + 30_000);
  expect(soon).toBeLessThan(Date.now() + 61_000);
});

describe('a request without a question', () => {
  test.each(['chat', 'generate'] as const)('of %s loads, and unloads', async (kind) => {
    const ollama = clientOf(await server({ control: 'auto', models }));
    const ask = (keepAlive?: string | number) => {
      const body = { model: 'a', ...(keepAlive === undefined ? {} : { keep_alive: keepAlive }) };
      return kind === 'chat' ? ollama.chat(body) : ollama.generate({ ...body, prompt: '' });
    };
    expect(await ask()).toMatchObject({ model: 'a', done: true, done_reason: 'load' });
    expect(namesOf((await ollama.ps()).models)).toEqual(['a:latest']);
    expect(await ask(0)).toMatchObject({ done: true, done_reason: 'unload' });
    expect((await ollama.ps()).models).toEqual([]);
    await ask('10m');
    expect((await ollama.ps()).models).toHaveLength(1);
    await ask('0s');
    expect((await ollama.ps()).models).toHaveLength(0);
  });

  test('unloads for the admin only where there are keys', async () => {
    const keys = new ApiKeys(unnamedKeys(['user']), digestOf('admin'));
    const target = await server({ control: 'auto', models, keys });
    const ask = (key: string, keepAlive: number) =>
      post(
        target,
        '/api/generate',
        { model: 'a', keep_alive: keepAlive },
        { headers: { authorization: `Bearer ${key}` } },
      );
    expect((await ask('user', 5)).status).toBe(200);
    expect(await expectOllamaError(await ask('user', 0), 403)).toContain('admin');
    expect((await ask('admin', 0)).status).toBe(200);
    // An admin key alone guards it too.
    const open = await server({
      control: 'auto',
      models,
      keys: new ApiKeys([], digestOf('admin')),
    });
    await expectOllamaError(await post(open, '/api/chat', { model: 'a', keep_alive: 0 }), 401);
    await post(open, '/api/generate', { model: 'a', prompt: 'Hi', keep_alive: 0 });
    expect((await clientOf(open).ps()).models).toHaveLength(1);
  });

  test('does not unload what is loaded for good', async () => {
    const target = await server();
    const error = await expectOllamaError(await post(target, '/api/chat', { keep_alive: 0 }), 400);
    expect(error).toContain('--model-control none');
  });
});

test('keep_alive 0 with a question unloads after the answer', async () => {
  const ollama = clientOf(await server({ control: 'auto', models }));
  await ollama.generate({ model: 'a', prompt: 'Hi', keep_alive: 0 });
  await expect.poll(async () => (await ollama.ps()).models).toEqual([]);
});

test('show tells what is known of a loaded model', async () => {
  const target = await server({
    chatFormat: { toolCalls: null, reasoning: THINK },
    samplingDefaults: { temperature: 0.7, topK: 20 },
  });
  Object.assign(target.runtime.model, { details });
  const shown = await clientOf(target).show({ model: MODEL });
  expect(shown).toMatchObject({
    template: '{}',
    parameters: 'temperature 0.7\ntop_k 20',
    capabilities: ['completion', 'thinking'],
    details: {
      format: 'gguf',
      family: 'llama',
      parameter_size: '1.5B',
      quantization_level: 'Q4_K_M',
    },
    model_info: {
      'general.architecture': 'llama',
      'general.basename': MODEL,
      'general.parameter_count': 1_540_000_000,
      'llama.context_length': 256,
    },
  });
  Object.assign(target.runtime.model, {
    details: { ...details, format: 'safetensors', quantization: null },
  });
  expect(await clientOf(target).show({ model: MODEL })).toMatchObject({
    details: { format: 'safetensors', quantization_level: 'INT4' },
  });
  const response = await post(target, '/api/show', { name: 'other' });
  expect(await expectOllamaError(response, 404)).toContain('`other` does not exist');
  await expectOllamaError(await post(target, '/api/show', {}), 400);
});

test('show tells of a model that is not loaded what its files say', async () => {
  const facts: ModelFacts = {
    family: 'qwen3',
    format: 'gguf',
    quantization: 'Q8_0',
    samplingDefaults: { temperature: 0.6, minP: 0.05 },
    maxModelLen: 4096,
    capabilities: ['chat'],
    bytes: 5,
  };
  const target = await server({ control: 'auto', models, describeModel: async () => facts });
  expect(await clientOf(target).show({ model: 'a' })).toMatchObject({
    parameters: 'temperature 0.6\nmin_p 0.05',
    details: {
      family: 'qwen3',
      families: ['qwen3'],
      format: 'gguf',
      quantization_level: 'Q8_0',
    },
    model_info: {
      'general.architecture': 'qwen3',
      'general.basename': 'a',
      'qwen3.context_length': 4096,
    },
  });
});

describe('/api/pull', () => {
  const model = 'hf.co/org/model';

  test('tells of the download, and asks for it once', async () => {
    const asked: string[] = [];
    let finish = (): void => {};
    const pullModel: PullModel = async (reference, onProgress) => {
      asked.push(reference);
      onProgress(5, 10);
      await new Promise<void>((resolve) => (finish = resolve));
      onProgress(10, 10);
    };
    const target = await server({ pullModel });
    const lines: unknown[] = [];
    const pulling = (async () => {
      for await (const line of await clientOf(target).pull({ model, stream: true })) {
        lines.push(line);
      }
    })();
    await expect.poll(() => lines.length).toBe(2);
    expect(await expectOllamaError(await post(target, '/api/pull', { model }), 429)).toContain(
      'already',
    );
    finish();
    await pulling;
    const progress = { status: 'pulling hf:org/model', total: 10 };
    expect(lines).toEqual([
      { status: 'pulling manifest' },
      { ...progress, completed: 5 },
      { ...progress, completed: 10 },
      { status: 'success' },
    ]);
    expect(asked).toEqual(['hf:org/model']);
  });

  test('is given up when its client goes, and another may follow', async () => {
    let signal: AbortSignal | undefined;
    const pullModel: PullModel = (_reference, _onProgress, given) => {
      signal = given;
      return new Promise((_resolve, reject) =>
        given.addEventListener('abort', () => reject(new Error('given up'))),
      );
    };
    const target = await server({ pullModel });
    const leaver = new AbortController();
    const response = await post(target, '/api/pull', { model }, { signal: leaver.signal });
    await response.body?.getReader().read();
    leaver.abort();
    await expect.poll(() => signal?.aborted).toBe(true);
    const again = await post(target, '/api/pull', { model });
    expect(again.status).toBe(200);
    await again.body?.cancel();
  });

  test('says why it failed', async () => {
    const pullModel: PullModel = () =>
      Promise.reject(new InvalidRequestError('the hub has no such model', 'model'));
    const target = await server({ pullModel });
    const whole = await post(target, '/api/pull', { model, stream: false });
    expect(await expectOllamaError(whole, 400)).toContain('no such model');
    await expect(all(await clientOf(target).pull({ model, stream: true }))).rejects.toThrow(
      'no such model',
    );
    const named = await post(target, '/api/pull', { model: 'llama3' });
    expect(await expectOllamaError(named, 400)).toContain('hf:owner/name');
  });

  test('is the operator’s', async () => {
    const target = await server({ keys: new ApiKeys(unnamedKeys(['user']), digestOf('admin')) });
    const headers = { authorization: 'Bearer user' };
    await expectOllamaError(await post(target, '/api/pull', { model }, { headers }), 403);
    const open = await server();
    await expectOllamaError(await post(open, '/api/pull', { model }), 501);
  });
});

test.each([
  ['POST', 'create', /folder/],
  ['POST', 'copy', /folder/],
  ['POST', 'push', /published/],
  ['DELETE', 'delete', /chairlift rm/],
])('%s /api/%s says why not', async (method, path, reason) => {
  const { url } = await server();
  const response = await fetch(`${url}/api/${path}`, { method });
  expect(await expectOllamaError(response, 501)).toMatch(reason);
});
