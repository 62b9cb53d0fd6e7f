import { expect, test } from 'vitest';
import { z } from 'zod';
import { CHAT, COMPLETIONS, textOf, USER, type Target } from '../support/target.ts';

const PROMPT = 'Once upon a time there was a fox who';
const GREEDY = { temperature: 0, max_tokens: 24 };

export function answers(target: () => Target): void {
  test('#8 usage is exact: total = prompt + completion, cached_tokens is told (vLLM)', async () => {
    const prompt = `${PROMPT} ${Date.now()} ${'and then '.repeat(40)}`;
    const counted = await target().post('/tokenize', { prompt });
    const { count } = z.looseObject({ count: z.number() }).parse(await counted.json());
    const body = { prompt, max_tokens: 7, ignore_eos: true };
    const { usage } = await target().answer(COMPLETIONS, body);
    expect(usage).toMatchObject({
      prompt_tokens: count,
      completion_tokens: 7,
      total_tokens: count + 7,
      prompt_tokens_details: { cached_tokens: 0 },
    });
    const again = (await target().answer(COMPLETIONS, body)).usage?.prompt_tokens_details;
    expect(again?.cached_tokens).toBeGreaterThan(0);
    expect(again?.cached_tokens).toBeLessThan(count);
  });

  test('#9 max_tokens reached is `length` (vLLM)', async () => {
    const body = { prompt: PROMPT, max_tokens: 3, ignore_eos: true };
    expect(await target().choice(COMPLETIONS, body)).toMatchObject({ finish_reason: 'length' });
    const chat = { messages: [USER], max_completion_tokens: 2, ignore_eos: true };
    expect(await target().choice(CHAT, chat)).toMatchObject({ finish_reason: 'length' });
  });

  test('#9 stop_reason names the stop string or id that ended it (vLLM)', async () => {
    const body = { prompt: PROMPT, ...GREEDY, return_token_ids: true };
    const { text = '', token_ids: tokenIds } = await target().choice(COMPLETIONS, body);
    const stop = text.slice(4, 9);
    const byText = await target().choice(COMPLETIONS, { ...body, stop: [stop] });
    expect(byText).toMatchObject({ finish_reason: 'stop', stop_reason: stop });
    expect(byText.text).toBe(text.slice(0, text.indexOf(stop)));
    const id = tokenIds?.[5] ?? -1;
    const byId = await target().choice(COMPLETIONS, { ...body, stop_token_ids: [id] });
    expect(byId).toMatchObject({ finish_reason: 'stop', stop_reason: id });
  });

  test.each([
    [COMPLETIONS, { prompt: PROMPT, ...GREEDY }],
    [CHAT, { messages: [USER], ...GREEDY }],
  ])(
    '#10 a greedy stream of %s adds up to the text in one piece (vLLM, llama.cpp)',
    async (path, body) => {
      const whole = await target().choice(path, body);
      const streamed = textOf(await target().chunks(path, body));
      expect(streamed).toBe(whole.text ?? whole.message?.content);
      expect(streamed.length).toBeGreaterThan(0);
    },
  );

  test.each([1, 2])(
    '#18 the same seed repeats, different seeds differ, %i at once (llama.cpp)',
    async (numAtOnce) => {
      const generate = async (fields: object): Promise<string> => {
        const body = { prompt: PROMPT, max_tokens: 24, ignore_eos: true, ...fields };
        const texts = await Promise.all(
          Array.from({ length: numAtOnce }, () => target().choice(COMPLETIONS, body)),
        );
        const [{ text = '' } = {}] = texts;
        expect(texts.map((choice) => choice.text)).toEqual(texts.map(() => text));
        return text;
      };
      const seeds = [1, 2, 3, 4, 5];
      const cold = await Promise.all(seeds.map((seed) => generate({ seed, temperature: 0 })));
      expect(new Set(cold).size).toBe(1);
      const warm = await Promise.all(seeds.map((seed) => generate({ seed, temperature: 1 })));
      expect(new Set(warm).size).toBeGreaterThan(1);
      expect(await generate({ seed: 3, temperature: 1 })).toBe(warm[2]);
    },
  );

  test('#19 logit_bias -100 bans a token (llama.cpp)', async () => {
    const body = { prompt: PROMPT, ...GREEDY, return_token_ids: true };
    const { token_ids: tokenIds } = await target().choice(COMPLETIONS, body);
    const banned = tokenIds?.[0] ?? -1;
    const logit_bias = { [banned]: -100 };
    const { token_ids: others } = await target().choice(COMPLETIONS, { ...body, logit_bias });
    expect(others?.length).toBeGreaterThan(0);
    expect(others).not.toContain(banned);
  });
}
