import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { answerOf, errorOf, eventsOf, post } from './support/client.ts';
import {
  babbles,
  EOS_TOKEN_ID,
  INFILL_TOKENS,
  says,
  type TestServer,
  tokensOf,
  useServers,
} from './support/test-server.ts';

const server = useServers();
const PROMPT = '<fim_prefix>a = <fim_suffix>\nb<fim_middle>';
const COMPLETIONS = '/v1/completions';
const INFILL = '/infill';
const GENERATE = '/api/generate';
const fills = { fillsIn: true };

function promptOf({ engine, runtime }: TestServer): string {
  const promptTokenIds = engine.requests.at(-1)?.promptTokenIds ?? [];
  return runtime.tokenizer.decode(promptTokenIds, { skipSpecialTokens: false });
}

const stopIds = INFILL_TOKENS.map((_, index) => EOS_TOKEN_ID + 1 + index);

describe.each<[string, object]>([
  [COMPLETIONS, { prompt: 'a = ', suffix: '\nb' }],
  [INFILL, { input_prefix: 'a = ', input_suffix: '\nb' }],
  [GENERATE, { prompt: 'a = ', suffix: '\nb', stream: false }],
])('%s', (path, body) => {
  test('fills in between two texts, and ends where the model begins another', async () => {
    const target = await server({ ...fills, script: () => [...tokensOf('1'), stopIds[2] ?? 0] });
    const response = await post(target, path, body);
    expect(response.status).toBe(200);
    expect(await response.text()).toMatch(/"(text|content|response)":"1"/);
    expect(promptOf(target)).toBe(PROMPT);
    expect(target.engine.requests[0]?.stopTokenIds).toEqual(expect.arrayContaining(stopIds));
  });

  test('is refused by a model without tokens for it, before anything is tokenized', async () => {
    const target = await server();
    const encode = vi.spyOn(target.runtime.prompts, 'encodeInfill');
    const response = await post(target, path, body);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('was trained to fill in the middle');
    expect(encode).not.toHaveBeenCalled();
  });

  test('says that it is too long in the words that clients look for', async () => {
    const target = await server(fills);
    const long = JSON.parse(JSON.stringify(body).replace('a = ', 'x'.repeat(300)));
    const response = await post(target, path, long);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('maximum context length is 256 tokens');
  });

  test('gives its slot to the next request once its client has left', async () => {
    const target = await server({ ...fills, script: babbles, concurrency: 1 });
    const first = new AbortController();
    const endless = { ...body, stream: true, n_predict: -1, max_tokens: 200 };
    await post(target, path, endless, { signal: first.signal });
    await vi.waitFor(() => expect(target.engine.running).toBe(1));
    first.abort();
    // The only slot, of what would go on for long.
    const second = new AbortController();
    await post(target, path, endless, { signal: second.signal });
    expect(target.engine).toMatchObject({ running: 1, aborted: 1 });
    expect(target.engine.requests).toHaveLength(2);
    second.abort();
  });
});

const answer = z.looseObject({
  content: z.string(),
  stop: z.boolean(),
  stop_type: z.string().optional(),
  tokens_predicted: z.number(),
  tokens_evaluated: z.number(),
});

describe('/infill', () => {
  const ask = async (body: object, options: object = {}) => {
    const target = await server({ ...fills, ...options });
    const response = await post(target, INFILL, { input_prefix: 'a', input_suffix: 'b', ...body });
    return { target, answer: answer.parse(await response.json()) };
  };

  test('answers with the fields of llama-server', async () => {
    const { answer: told } = await ask({}, { script: says('x\n') });
    expect(told).toMatchObject({
      index: 0,
      content: 'x\n',
      stop: true,
      stop_type: 'eos',
      has_new_line: true,
      tokens_predicted: 3,
      tokens_evaluated: 5,
      timings: { prompt_n: 5, predicted_n: 3 },
    });
  });

  test.each([
    [{ n_predict: 2 }, 'limit', 'xx'],
    [{ n_predict: 50, stop: ['xxx'] }, 'word', ''],
  ])('%j ends with %s', async (body, stop_type, content) => {
    const { answer: told } = await ask(body, { script: babbles });
    expect(told).toMatchObject({ stop_type, content });
  });

  test('streams pieces, then the end, without another word', async () => {
    const target = await server({ ...fills, script: says('xy') });
    const events = await eventsOf(await post(target, INFILL, { input_prefix: 'a', stream: true }));
    const pieces = events.map((event) => answer.parse(JSON.parse(event)));
    expect(pieces.map(({ content, stop }) => [content, stop])).toEqual([
      ['x', false],
      ['y', false],
      ['', true],
    ]);
  });

  test('computes the prompt alone with n_predict 0', async () => {
    const { target, answer: told } = await ask({ n_predict: 0 }, { script: babbles });
    expect(told).toMatchObject({ content: '', tokens_predicted: 0 });
    expect(target.engine.requests[0]?.maxTokens).toBe(1);
  });

  test('takes snippets, and what the answer is to begin with', async () => {
    const input_extra = [{ filename: 'x.py', text: 'x' }, { text: 'y' }];
    const { target } = await ask({ input_extra, prompt: 'c', samplers: ['top_k'], t_max_ms: 1 });
    expect(promptOf(target)).toBe(
      '<repo_name>myproject\n<file_sep>x.py\nx<file_sep>tmp\ny<file_sep>filename\n<fim_prefix>a<fim_suffix>b<fim_middle>c',
    );
  });

  test('leaves out snippets that do not fit beside the answer', async () => {
    const input_extra = Array.from({ length: 256 }, (_, id) => ({
      filename: `f${id}`,
      text: 'xyz',
    }));
    const { target } = await ask({ input_extra, n_predict: 40 });
    const [request] = target.engine.requests;
    expect(request?.promptTokenIds.length).toBeGreaterThan(200);
    expect(request?.promptTokenIds.length).toBeLessThanOrEqual(256 - 40);
    expect(promptOf(target)).toContain('f255');
  });

  test.each<[string, object]>([
    ['input_prefix', { input_prefix: 1 }],
    ['input_suffix', { input_suffix: [] }],
    ['input_extra', { input_extra: 'a' }],
    ['input_extra', { input_extra: Array.from({ length: 257 }, () => ({ text: '' })) }],
    ['input_extra.0.text', { input_extra: [{ filename: 'a' }] }],
    ['input_extra.0.filename', { input_extra: [{ filename: 'a'.repeat(513), text: '' }] }],
    ['prompt', { prompt: 1 }],
    ['n_predict', { n_predict: -2 }],
    ['temperature', { temperature: 3 }],
    ['grammar', { grammar: 'root ::= "a"' }],
    ['n_predict', { n_predict: 300 }],
  ])('refuses a bad %s', async (param, body) => {
    const error = await errorOf(await post(await server(fills), INFILL, body), 400);
    expect(error).toMatchObject({ param });
  });
});

describe('/v1/completions with a suffix', () => {
  test('fills in each of several prompts, as often as asked', async () => {
    const target = await server({ ...fills, script: says('1') });
    const body = { prompt: ['a', 'b'], suffix: 'c', n: 2 };
    const told = await answerOf(await post(target, COMPLETIONS, body));
    expect(told.choices.map(({ text }) => text)).toEqual(['1', '1', '1', '1']);
  });

  test.each([
    ['prompt', { prompt: [1, 2] }],
    ['suffix', { prompt: 'a', echo: true }],
    ['suffix', { prompt: 'a', truncate_prompt_tokens: 5 }],
  ])('refuses, naming %s: %j', async (param, body) => {
    const target = await server(fills);
    const error = await errorOf(await post(target, COMPLETIONS, { ...body, suffix: 'c' }), 400);
    expect(error).toMatchObject({ param });
  });

  test('that is empty is none', async () => {
    const target = await server();
    expect((await post(target, COMPLETIONS, { prompt: 'a', suffix: '' })).status).toBe(200);
    expect(promptOf(target)).toBe('a');
  });
});

test('Ollama`s clients are told which models fill in', async () => {
  for (const fillsIn of [true, false]) {
    const target = await server({ fillsIn });
    const shown = await (await post(target, '/api/show', { model: 'org/fake-model' })).text();
    expect(shown.includes('"insert"')).toBe(fillsIn);
  }
});
