/** Models that see, in a real server: what Transformers computes of the same images, by every API. */
import { execFileSync } from 'node:child_process';
import Anthropic from '@anthropic-ai/sdk';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { HumanMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { streamText } from 'ai';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { post, stream } from '../support/http-client.ts';
import { childrenOf, killNow } from '../support/processes.ts';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';
import {
  ANYRES_MODELS,
  CANVAS_MODELS,
  GGUF_MODELS,
  LINE_MODELS,
  QWEN_MODELS,
  SQUARE_MODELS,
  VISION_MODELS,
  visionFile,
  visionFolder,
  visionGguf,
  visionReference,
} from '../support/vision.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const TYPES: Readonly<Record<string, string>> = { png: 'image/png', jpg: 'image/jpeg' };

async function base64Of(name: string): Promise<string> {
  return (await visionFile(name)).toString('base64');
}

async function dataUrlOf(name: string): Promise<string> {
  const [, end = ''] = name.split('.');
  return `data:${TYPES[end]};base64,${await base64Of(name)}`;
}

type Reference = Awaited<ReturnType<typeof visionReference>>;
type Prompt = Reference['prompts'][string];

/** As OpenAI's clients send it. */
async function openaiMessages({ messages, images }: Prompt) {
  const urls = await Promise.all(images.map(dataUrlOf));
  return messages.map(({ role, content }) => ({
    role,
    content: content.map((part) =>
      part.type === 'text'
        ? { type: 'text' as const, text: part.text }
        : { type: 'image_url' as const, image_url: { url: urls.shift() ?? '' } },
    ),
  }));
}

/** Not in the client's types any more. */
const GREEDY_OF_ANTHROPIC: object = { temperature: 0 };
const GREEDY = { temperature: 0, max_tokens: 16, ignore_eos: true };

interface Completion {
  readonly choices: readonly { readonly token_ids: number[]; readonly message: object }[];
  readonly prompt_token_ids: number[];
  readonly usage: {
    readonly prompt_tokens: number;
    readonly prompt_tokens_details: {
      readonly cached_tokens: number;
      readonly image_tokens?: number;
    };
  };
}

const MODELS = [
  ...[
    ...[...VISION_MODELS, ...QWEN_MODELS, ...LINE_MODELS],
    ...[...SQUARE_MODELS, ...CANVAS_MODELS, ...ANYRES_MODELS],
  ].map((name) => ({ name, format: 'safetensors', path: visionFolder(name) })),
  ...GGUF_MODELS.map(([name]) => ({ name, format: 'GGUF', path: visionGguf(name) })),
];

describe.each(MODELS)('$name of $format', ({ name, path }) => {
  let server: ServerProcess;
  let reference: Reference;

  beforeAll(async () => {
    reference = await visionReference(name);
    const flags = ['--precision', 'fp32', '--kernels', 'onnxruntime', '--speculative', 'off'];
    server = await startServer(['--model', path, ...flags], cache.env);
  });
  afterAll(() => server.stop());

  async function complete(body: object): Promise<Completion> {
    const response = await post(`${server.url}/v1/chat/completions`, { ...GREEDY, ...body });
    const text = await response.text();
    expect({ status: response.status, text }).toMatchObject({ status: 200 });
    return JSON.parse(text) as Completion;
  }

  test('prompts and greedy tokens are those of Transformers', async () => {
    for (const prompt of Object.values(reference.prompts)) {
      const { choices, prompt_token_ids: ids } = await complete({
        messages: await openaiMessages(prompt),
        return_token_ids: true,
      });
      const seen = prompt.ids.find((_id, at) => ids[at] === -1);
      expect(seen).toBeDefined();
      expect(ids.map((id) => (id === -1 ? seen : id))).toEqual(prompt.ids);
      expect(choices[0]?.token_ids).toEqual(prompt.greedy);
      const body = { messages: await openaiMessages(prompt) };
      const tokenized = await post(`${server.url}/tokenize`, body);
      expect(await tokenized.json()).toMatchObject({ tokens: ids });
      const rendered = await post(`${server.url}/v1/chat/completions/render`, body);
      expect(await rendered.json()).toMatchObject({ token_ids: ids });
    }
  });

  test('a conversation finds its images again, and another key does not', async () => {
    const prompt = reference.prompts['turns'];
    if (prompt === undefined) throw new Error('there is no such prompt');
    const messages = await openaiMessages(prompt);
    const whole = await complete({ messages, return_token_ids: true });
    expect(whole.usage.prompt_tokens).toBe(prompt.ids.length);
    const numSeen = whole.prompt_token_ids.filter((id) => id === -1).length;
    expect(numSeen).toBeGreaterThan(0);
    expect(whole.usage.prompt_tokens_details.image_tokens).toBe(numSeen);
    const again = await complete({ messages });
    const { cached_tokens: cached } = again.usage.prompt_tokens_details;
    expect(cached).toBeGreaterThan(prompt.ids.length - 33);
    const salted = await complete({ messages, cache_salt: 'another' });
    expect(salted.usage.prompt_tokens_details.cached_tokens).toBe(0);
    expect(salted.choices[0]?.message).toEqual(whole.choices[0]?.message);
    const [first, ...others] = messages;
    const turned = { ...first, content: [...(first?.content ?? [])].toReversed() };
    const changed = await complete({ messages: [turned, ...others] });
    expect(changed.usage.prompt_tokens_details.cached_tokens).toBeLessThan(33);
  });
});

describe('SmolVLM, over every API', () => {
  let server: ServerProcess;
  const model = 'smolvlm';
  const question = 'What is it?';

  beforeAll(async () => {
    server = await startServer(['--model', visionFolder(model), '--precision', 'fp32'], cache.env);
  });
  afterAll(() => server.stop());

  test('clients send an image as they always do, and all get the same answer', async () => {
    const data = await base64Of('wide.png');
    const url = await dataUrlOf('wide.png');
    const openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 });
    const chat = await openai.chat.completions.create({
      model,
      temperature: 0,
      max_tokens: 12,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url } },
            { type: 'text', text: question },
          ],
        },
      ],
    });
    const text = chat.choices[0]?.message.content ?? '';
    expect(text).not.toBe('');
    const response = await openai.responses.create({
      model,
      temperature: 0,
      max_output_tokens: 12,
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_image', image_url: url, detail: 'auto' },
            { type: 'input_text', text: question },
          ],
        },
      ],
    });
    expect(response.output_text).toBe(text);
    expect(response.usage?.input_tokens).toBe(chat.usage?.prompt_tokens);
    const anthropic = new Anthropic({ baseURL: server.url, apiKey: 'none', maxRetries: 0 });
    const message = await anthropic.messages.create({
      model,
      ...GREEDY_OF_ANTHROPIC,
      max_tokens: 12,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data } },
            { type: 'text', text: question },
          ],
        },
      ],
    });
    expect(message.content).toMatchObject([{ type: 'text', text }]);
    const ollama = new Ollama({ host: server.url });
    const told = await ollama.chat({
      model,
      messages: [{ role: 'user', content: question, images: [data] }],
      options: { temperature: 0, num_predict: 12, top_k: 0, top_p: 1, repeat_penalty: 1 },
    });
    expect(told.message.content).toBe(text);
    expect((await ollama.show({ model })).capabilities).toContain('vision');
    const provider = createOpenAICompatible({ name: 'chairlift', baseURL: `${server.url}/v1` });
    const image = await visionFile('wide.png');
    const generated = streamText({
      model: provider(model),
      temperature: 0,
      maxOutputTokens: 12,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', image },
            { type: 'text', text: question },
          ],
        },
      ],
    });
    expect(await generated.text).toBe(text);
    const langchain = new ChatOpenAI({
      model,
      temperature: 0,
      maxTokens: 12,
      apiKey: 'none',
      configuration: { baseURL: `${server.url}/v1` },
    });
    const content = [
      { type: 'image_url', image_url: { url } },
      { type: 'text', text: question },
    ];
    let streamed = '';
    for await (const piece of await langchain.stream([new HumanMessage({ content })])) {
      streamed += piece.text;
    }
    expect(streamed).toBe(text);
  });

  test('`run --image` asks the server', () => {
    const file = 'test/fixtures/vision/images/wide.png';
    const args = ['run', model, question, '--image', file, '--temperature', '0', '-n', '12'];
    const said = execFileSync(
      process.execPath,
      ['dist/cli/main.js', ...args, '--url', server.url],
      { env: { ...process.env, ...cache.env }, input: '', encoding: 'utf8' },
    );
    expect(said.trim()).not.toBe('');
  });

  test('an answer goes on through the death of its engine, and of the encoder', async () => {
    const body = {
      model,
      temperature: 0,
      max_tokens: 200,
      ignore_eos: true,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: await dataUrlOf('tall.jpg') } },
            { type: 'text', text: question },
          ],
        },
      ],
    };
    const url = `${server.url}/v1/chat/completions`;
    const expected = await stream(url, body);
    expect(expected.text).not.toBe('');
    let numKilled = 0;
    const killed = await stream(url, body, () => {
      if (numKilled > 0) return;
      for (const pid of childrenOf(server.child.pid)) numKilled += Number(killNow(pid));
    });
    // The engine, the encoder of images, and what has read the image.
    expect(numKilled).toBeGreaterThan(2);
    expect(killed).toEqual(expected);
    expect(await stream(url, { ...body, cache_salt: 'new' })).toEqual(expected);
  });
});

test.each([...SQUARE_MODELS, ...LINE_MODELS, ...ANYRES_MODELS])(
  '%s says the same in chunks shorter than its images, of several chats at once',
  async (name) => {
    const flags = ['--precision', 'fp32', '--max-num-batched-tokens', '9', '--max-num-seqs', '4'];
    const server = await startServer(['--model', visionFolder(name), ...flags], cache.env);
    onTestFinished(async () => {
      await server.stop();
    });
    const { prompts } = await visionReference(name);
    const all = Object.values(prompts);
    const answers = await Promise.all(
      [...all, ...all].map(async (prompt, index) => {
        const messages = await openaiMessages(prompt);
        const body = { ...GREEDY, messages, return_token_ids: true, cache_salt: `${index}` };
        const response = await post(`${server.url}/v1/chat/completions`, body);
        return ((await response.json()) as Completion).choices[0]?.token_ids;
      }),
    );
    expect(answers).toEqual([...all, ...all].map(({ greedy }) => greedy));
  },
);

test('an image is no secret of another key', async () => {
  const flags = ['--precision', 'fp32', '--api-key', 'one,two'];
  const server = await startServer(['--model', visionFolder('smolvlm'), ...flags], cache.env);
  onTestFinished(async () => {
    await server.stop();
  });
  const content = [{ type: 'image_url', image_url: { url: await dataUrlOf('ghost.png') } }];
  const cachedOf = async (key: string): Promise<number> => {
    const response = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ ...GREEDY, messages: [{ role: 'user', content }] }),
    });
    const { usage } = (await response.json()) as Completion;
    return usage.prompt_tokens_details.cached_tokens;
  };
  expect(await cachedOf('one')).toBe(0);
  expect(await cachedOf('one')).toBeGreaterThan(0);
  expect(await cachedOf('two')).toBe(0);
});

test('a model that reads text alone refuses an image by name', async () => {
  const server = await startServer([]);
  onTestFinished(async () => {
    await server.stop();
  });
  const content = [{ type: 'image_url', image_url: { url: await dataUrlOf('ghost.png') } }];
  const response = await post(`${server.url}/v1/chat/completions`, {
    messages: [{ role: 'user', content }],
  });
  expect([response.status, await response.text()]).toEqual([
    400,
    expect.stringMatching(/the model `summit` takes text only, and no images/),
  ]);
});
