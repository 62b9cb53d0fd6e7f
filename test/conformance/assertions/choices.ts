import { expect, test } from 'vitest';
import { CHAT, COMPLETIONS, textOf, USER, type Target } from '../support/target.ts';

export function choices(target: () => Target): void {
  test('#17 n = 3 gives indexes 0 to 2 and three finish reasons (vLLM, TGI)', async () => {
    const body = { messages: [USER], n: 3, max_tokens: 6 };
    const answer = await target().answer(CHAT, body);
    expect(answer.choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(answer.choices.every(({ finish_reason: reason }) => reason !== null)).toBe(true);
  });

  test('#17 streamed, each of n = 3 has one finish reason (vLLM)', async () => {
    const chunks = await target().chunks(CHAT, { messages: [USER], n: 3, max_tokens: 6 });
    const ended = chunks
      .flatMap((chunk) => chunk.choices)
      .filter(({ finish_reason: reason }) => reason !== null)
      .map(({ index }) => index);
    expect(ended.toSorted((a, b) => a - b)).toEqual([0, 1, 2]);
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
  });

  test('#17 the choices of a list of prompts go by index (vLLM, TGI)', async () => {
    const prompts = ['Once upon a time', 'The old boat', 'In the morning'];
    const fields = { temperature: 0, max_tokens: 6 };
    const alone: (string | undefined)[] = [];
    for (const prompt of prompts) {
      alone.push((await target().choice(COMPLETIONS, { prompt, ...fields })).text);
    }
    const together = await target().answer(COMPLETIONS, { prompt: prompts, ...fields });
    expect(together.choices.map(({ text }) => text)).toEqual(alone);
    const chunks = await target().chunks(COMPLETIONS, { prompt: prompts, ...fields });
    expect(prompts.map((_, index) => textOf(chunks, index))).toEqual(alone);
    const twice = await target().answer(COMPLETIONS, { prompt: prompts, n: 2, ...fields });
    expect(twice.choices.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(twice.choices.map(({ text }) => text)).toEqual(alone.flatMap((text) => [text, text]));
  });
}
