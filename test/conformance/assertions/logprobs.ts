import { expect, test } from 'vitest';
import {
  CHAT,
  chatLogprobsOf,
  COMPLETIONS,
  completionLogprobsOf,
  USER,
  type Target,
} from '../support/target.ts';

export function logprobs(target: () => Target): void {
  test('#15 chat logprobs: tokens join to the content, bytes, logprob <= 0, top_logprobs of exact length (llama.cpp, vLLM)', async () => {
    const body = { messages: [USER], max_tokens: 10, logprobs: true, top_logprobs: 4 };
    const choice = await target().choice(CHAT, body);
    const entries = chatLogprobsOf(choice);
    const content = choice.message?.content ?? '';
    const bytes = entries.flatMap((entry) => entry.bytes ?? []);
    expect(entries.length).toBeGreaterThan(0);
    expect(entries.map(({ token }) => token).join('')).toContain(content);
    expect(Buffer.from(bytes).toString('utf8')).toContain(content);
    for (const { logprob, top_logprobs: top } of entries) {
      expect(logprob).toBeLessThanOrEqual(0);
      expect(top).toHaveLength(4);
      for (const item of top) expect(item.logprob).toBeLessThanOrEqual(0);
    }
  });

  test('#15 streamed chat logprobs are those in one piece (vLLM)', async () => {
    const body = { messages: [USER], max_tokens: 10, temperature: 0, logprobs: true };
    const whole = chatLogprobsOf(await target().choice(CHAT, body));
    const chunks = await target().chunks(CHAT, body);
    const streamed = chunks
      .flatMap(({ choices }) => choices)
      .flatMap((choice) => (choice.logprobs ? chatLogprobsOf(choice) : []));
    expect(streamed.map(({ token }) => token)).toEqual(whole.map(({ token }) => token));
  });

  test('#16 completion logprobs: tokens, token_logprobs, top_logprobs, text_offset (vLLM)', async () => {
    // Greedy: a sampled special token would be among the tokens and not in the text.
    const body = { prompt: 'Once upon a time', max_tokens: 6, logprobs: 2, temperature: 0 };
    const choice = await target().choice(COMPLETIONS, body);
    const {
      tokens,
      token_logprobs: own,
      top_logprobs: top,
      text_offset: offsets,
    } = completionLogprobsOf(choice);
    expect([tokens.length, own.length, top?.length, offsets.length]).toEqual([6, 6, 6, 6]);
    expect(tokens.join('')).toContain(choice.text);
    expect(offsets).toEqual(offsets.toSorted((a, b) => a - b));
    for (const value of own) expect(value).toBeLessThanOrEqual(0);
    for (const item of top ?? []) {
      expect(Object.keys(item ?? {}).length).toBeGreaterThanOrEqual(2);
    }
  });

  test('#16 echo gives null for the first token (vLLM)', async () => {
    const prompt = 'Once upon a time';
    const body = { prompt, max_tokens: 2, logprobs: 1, echo: true, temperature: 0 };
    const choice = await target().choice(COMPLETIONS, body);
    const { tokens, token_logprobs: own, top_logprobs: top } = completionLogprobsOf(choice);
    expect(choice.text?.startsWith(prompt)).toBe(true);
    expect(own[0]).toBeNull();
    expect(top?.[0]).toBeNull();
    expect(own.slice(1).every((value) => value !== null && value <= 0)).toBe(true);
    expect(tokens.length).toBe(own.length);
  });
}
