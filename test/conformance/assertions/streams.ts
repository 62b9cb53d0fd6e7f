import { expect, test } from 'vitest';
import { CHAT, COMPLETIONS, USER, type Target } from '../support/target.ts';

export function streams(target: () => Target): void {
  test('#11 first chat chunk has the role, later ones none; one id; one finish_reason, null before (llama.cpp, vLLM)', async () => {
    const chunks = await target().chunks(CHAT, { messages: [USER], max_tokens: 12 });
    const choices = chunks.flatMap((chunk) => chunk.choices);
    expect(choices[0]?.delta?.role).toBe('assistant');
    expect(choices.slice(1).filter((choice) => typeof choice.delta?.role === 'string')).toEqual([]);
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    expect(new Set(chunks.map(({ created }) => created)).size).toBe(1);
    expect(new Set(chunks.map(({ model }) => model)).size).toBe(1);
    const reasons = choices.map((choice) => choice.finish_reason);
    expect(reasons.at(-1)).toBeTypeOf('string');
    expect(reasons.slice(0, -1).every((reason) => reason === null)).toBe(true);
  });

  test.each([
    [CHAT, { messages: [USER] }],
    [COMPLETIONS, { prompt: 'Hi' }],
  ])(
    '#12 include_usage of %s: last chunk has no choices but usage, earlier usage is null (vLLM, TGI)',
    async (path, body) => {
      const options = { stream_options: { include_usage: true } };
      const chunks = await target().chunks(path, { ...body, ...options, max_tokens: 5 });
      expect(chunks.at(-1)?.choices).toEqual([]);
      const {
        prompt_tokens: prompt = 0,
        completion_tokens: output = 0,
        total_tokens: total,
      } = chunks.at(-1)?.usage ?? {};
      expect(total).toBe(prompt + output);
      expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
      const without = await target().chunks(path, { ...body, max_tokens: 5 });
      expect(without.every(({ choices }) => choices.length === 1)).toBe(true);
    },
  );

  // vLLM refuses it; LangChain has sent it so (langchain issue 6533), which it must survive.
  test('#12 stream_options without stream is refused, or ignored (vLLM)', async () => {
    const body = { prompt: 'Hi', max_tokens: 2, stream_options: { include_usage: true } };
    const response = await target().post(COMPLETIONS, body);
    expect([200, 400]).toContain(response.status);
    await response.text();
  });

  test('#13 continuous_usage_stats rises (vLLM)', async () => {
    const chunks = await target().chunks(CHAT, {
      messages: [USER],
      max_tokens: 8,
      stream_options: { include_usage: true, continuous_usage_stats: true },
    });
    const counts = chunks.map(({ usage }) => usage?.completion_tokens ?? -1);
    expect(counts.every((count) => count >= 0)).toBe(true);
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(counts.at(-1)).toBeGreaterThan(counts[0] ?? 0);
  });
}
