/** `--context-shift` with a real model: each part of a text is what a server says to the shifted prompt. */
import { afterAll, describe, expect, it } from 'vitest';
import { choiceSeed } from '../../src/front/generation/choice-seed.ts';
import { metric } from '../support/http-client.ts';
import { LINUX, needs } from '../support/needs.ts';
import { killNow, until } from '../support/processes.ts';
import { engineOf, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const LENGTH = 96;
const KEPT = 10;
const NUM_TOKENS = 300;
const SEED = 7n;
const flags = ['--max-model-len', String(LENGTH), '--max-num-seqs', '4', '--context-shift'];

interface Answer {
  readonly usage: { readonly prompt_tokens: number; readonly completion_tokens: number };
  readonly choices: readonly [{ readonly token_ids: readonly number[] }];
}

async function answerTo(url: string, body: object): Promise<Answer> {
  const common = { ignore_eos: true, return_token_ids: true, n_keep: KEPT };
  const json = JSON.stringify({ ...common, ...body });
  const response = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    // Seeds have 64 bits.
    body: json.replace(/"seed":"(-?\d+)"/, '"seed":$1'),
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Answer;
}

/** Tokens of a text, by one plain request for each part of it. */
async function inParts(url: string, prompt: readonly number[], drawn: (seed: string) => object) {
  const told: number[] = [];
  let text = [...prompt];
  for (let part = 0; told.length < NUM_TOKENS; part++) {
    const max_tokens = Math.min(LENGTH - text.length, NUM_TOKENS - told.length);
    const seed = String(BigInt.asIntN(64, choiceSeed(SEED, part)));
    const { choices } = await answerTo(url, { prompt: text, max_tokens, ...drawn(seed) });
    told.push(...choices[0].token_ids);
    text.push(...choices[0].token_ids);
    const numLeftOut = Math.floor((text.length - KEPT) / 2);
    text = [...text.slice(0, KEPT), ...text.slice(KEPT + numLeftOut)];
  }
  return told;
}

describe('a text beyond its context', () => {
  it(
    'is that of plain requests with the shifted prompts, alone, beside others and through a kill',
    { ...needs(LINUX), timeout: 240_000 },
    async () => {
      const server = await startServer(flags, cache.env);
      const { url } = server;
      const prompt = Array.from({ length: 40 }, (_, at) => 300 + 7 * at);
      for (const drawn of [
        () => ({ temperature: 0 }),
        (seed: string) => ({ temperature: 1, seed }),
      ]) {
        const body = { prompt, max_tokens: NUM_TOKENS, ...drawn(String(SEED)) };
        const { usage, choices } = await answerTo(url, body);
        expect(usage).toMatchObject({ prompt_tokens: 40, completion_tokens: NUM_TOKENS });
        expect(choices[0].token_ids).toEqual(await inParts(url, prompt, drawn));

        const told = () => metric(url, 'chairlift_generation_tokens_total');
        const before = await told();
        const killed = (async () => {
          await until(async () => (await told()) - before > NUM_TOKENS, 'tokens');
          killNow(engineOf(server));
        })();
        const again = await Promise.all([body, body, body].map((one) => answerTo(url, one)));
        await killed;
        for (const one of again) expect(one.choices[0].token_ids).toEqual(choices[0].token_ids);
      }
      await server.stop();
    },
  );
});
