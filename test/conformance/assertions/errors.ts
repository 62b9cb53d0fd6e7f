import { expect, test } from 'vitest';
import { CHAT, COMPLETIONS, errorOf, USER, type Target } from '../support/target.ts';

export function errors(target: () => Target): void {
  test('#1 errors are {"error":{message,type,param,code}}, param names the missing field (vLLM)', async () => {
    const error = await target().refusal(CHAT, {}, 400);
    expect(error.param).toContain('messages');
    expect(error.type.length).toBeGreaterThan(0);
  });

  test('#2 the body of a 400 stays under 32 kB and leaks no paths of the server (vLLM)', async () => {
    const huge = { messages: [{ role: 'x'.repeat(200_000), content: 'Hi' }] };
    const error = await target().refusal(CHAT, huge, 400);
    expect(error.message.length).toBeLessThan(32_000);
    await target().refusal(CHAT, '{"messages": [', 400);
  });

  test('#3 an unknown model is 404, on POST and on GET /v1/models/x (vLLM, SGLang)', async () => {
    await target().refusal(CHAT, { model: 'no-such-model', messages: [USER] }, 404);
    const error = await errorOf(await target().get('/v1/models/no-such-model'), 404);
    expect(error.message).toContain('no-such-model');
  });

  const badSchema = {
    type: 'json_schema',
    json_schema: { name: 'x', schema: { type: 'nonsense' } },
  };
  test.each<[string, string, object]>([
    ['an empty prompt', COMPLETIONS, { prompt: '' }],
    ['an empty list of prompts', COMPLETIONS, { prompt: [] }],
    ['a negative token id', COMPLETIONS, { prompt: [1, -1] }],
    ['a token id outside the vocabulary', COMPLETIONS, { prompt: [1, 2_000_000_000] }],
    ['a seed beyond int64', CHAT, { messages: [USER], seed: 2 ** 70 }],
    ['logprobs > 20', COMPLETIONS, { prompt: 'Hi', logprobs: 21 }],
    ['top_logprobs > 20', CHAT, { messages: [USER], logprobs: true, top_logprobs: 21 }],
    ['a bad schema', CHAT, { messages: [USER], response_format: badSchema }],
    ['a bad regex', CHAT, { messages: [USER], structured_outputs: { regex: '(' } }],
    ['a bad grammar', CHAT, { messages: [USER], structured_outputs: { grammar: 'root ::= (' } }],
    ['an unknown response_format', CHAT, { messages: [USER], response_format: { type: 'xml' } }],
  ])('#5 400 for %s; the server works afterwards (vLLM, llama.cpp)', async (_what, path, body) => {
    const error = await target().refusal(path, body, 400);
    expect(error.message.length).toBeGreaterThan(0);
    await target().expectServing();
  });

  test('#6 unknown extra fields are accepted, a form is refused (vLLM)', async () => {
    const extra = { prompt: 'Hi', max_tokens: 2, flux_capacitor: { gigawatts: 1.21 } };
    await target().answer(COMPLETIONS, extra);
    const form = await target().post(COMPLETIONS, 'prompt=Hi', {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(form.status).toBeGreaterThanOrEqual(400);
    expect(form.status).toBeLessThan(500);
  });

  test.each([false, true])(
    '#7 an overlong prompt is 400 and tells the limit, stream: %s (vLLM, llama.cpp)',
    async (stream) => {
      const { maxModelLen } = target();
      const prompt = 'word '.repeat(maxModelLen * 2);
      const error = await target().refusal(COMPLETIONS, { prompt, stream }, 400);
      expect(error.message).toContain(`maximum context length is ${maxModelLen} tokens`);
    },
  );
}
