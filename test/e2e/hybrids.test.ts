/** Models whose layers have states, through whole servers: drafts, kills, and what is found again. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { FAMILY_FIXTURES } from '../support/families.ts';
import { longHybrid } from '../support/hybrid-engine.ts';
import { metric, post, stream } from '../support/http-client.ts';
import { engineOf, runToEnd, type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const NUM_WORDS = 64;
const KILLS = 3;

/** A tiny model with a tokenizer of words. @returns its folder */
async function modelOf(name: string): Promise<string> {
  const folder = await longHybrid(name, cache.path);
  const words = Array.from({ length: NUM_WORDS }, (_, id) => [`w${id}`, id] as const);
  const tokenizer = {
    version: '1.0',
    added_tokens: [],
    normalizer: null,
    pre_tokenizer: { type: 'WhitespaceSplit' },
    post_processor: null,
    decoder: { type: 'Replace', pattern: { String: 'w' }, content: ' w' },
    model: { type: 'WordLevel', vocab: Object.fromEntries(words), unk_token: 'w0' },
  };
  await writeFile(join(folder, 'tokenizer.json'), JSON.stringify(tokenizer));
  return folder;
}

function idsOf(length: number, step: number): number[] {
  return Array.from({ length }, (_, at) => (at * step + (at >> 3)) % NUM_WORDS);
}

const bodies = Array.from({ length: 8 }, (_, index) => ({
  prompt: idsOf(40 + 90 * (index % 3), 7 + index),
  max_tokens: 120,
  ignore_eos: true,
  ...(index % 2 === 0 ? { temperature: 0 } : { temperature: 0.9, seed: index }),
}));

/** @param disturb called after every so many pieces of all texts */
async function streamAll(server: ServerProcess, every = Infinity, disturb = () => {}) {
  let pieces = 0;
  return Promise.all(
    bodies.map((body) =>
      stream(`${server.url}/v1/completions`, body, () => {
        pieces += 1;
        if (pieces % every === 0) disturb();
      }),
    ),
  );
}

interface Completion {
  readonly choices: readonly { readonly token_ids: readonly number[] }[];
  readonly usage: { readonly prompt_tokens_details: { readonly cached_tokens: number } };
}

async function complete(server: ServerProcess, prompt: readonly number[]) {
  const body = { prompt, max_tokens: 8, ignore_eos: true, temperature: 0, return_token_ids: true };
  const response = await post(`${server.url}/v1/completions`, body);
  expect(response.status).toBe(200);
  const { choices, usage } = (await response.json()) as Completion;
  return {
    written: choices[0]?.token_ids ?? [],
    cached: usage.prompt_tokens_details.cached_tokens,
  };
}

/** The larger a state is next to keys and values, the fewer snapshots there are: Granite's has none of 150 tokens. */
const MODELS = [
  { name: 'lfm2', cachedOf150: 128 },
  { name: 'qwen3.5', cachedOf150: 128 },
  { name: 'granite-mamba', cachedOf150: 0 },
  { name: 'mamba2', cachedOf150: 0 },
];

describe.each(MODELS)('$name', ({ name, cachedOf150 }) => {
  it('writes with drafts and after three kills what it writes without, and finds texts again at snapshots', async () => {
    const flags = ['--model', await modelOf(name), '--precision', 'int8'];
    const plain = await startServer([...flags, '--speculative', 'off'], cache.env);
    const undisturbed = await streamAll(plain);
    for (const each of undisturbed) {
      expect(each).toMatchObject({ finishReason: 'length', done: true, error: undefined });
    }
    expect(await plain.stop('SIGTERM')).toBe(0);
    const server = await startServer(flags, cache.env);
    let kills = 0;
    const disturbed = await streamAll(server, 40, () => {
      if (kills++ < KILLS) process.kill(engineOf(server), 'SIGKILL');
    });
    expect(disturbed.map(({ text }) => text)).toEqual(undisturbed.map(({ text }) => text));
    expect(kills).toBeGreaterThanOrEqual(KILLS);

    const prompt = idsOf(200, 3);
    const first = await complete(server, prompt);
    expect(first.cached).toBe(0);
    const next = [...prompt, ...first.written, 1, 2];
    expect((await complete(server, next)).cached).toBe(192);
    const branch = [...prompt, 9, 8, 7];
    expect((await complete(server, branch)).cached).toBe(192);
    const other = [...idsOf(150, 3), ...idsOf(50, 5)];
    expect((await complete(server, other)).cached).toBe(cachedOf150);
    expect(await server.stop('SIGTERM')).toBe(0);
  });
});

it('writes with a draft model, whose drafts are tried whether they pay or not, what it writes without', async () => {
  const flags = ['--model', await modelOf('lfm2'), '--precision', 'int8'];
  const draftModel = await longHybrid('llama', cache.path, FAMILY_FIXTURES);
  const texts: string[][] = [];
  for (const drafts of [
    ['--speculative', 'off'],
    ['--draft-model', draftModel],
  ]) {
    const server = await startServer([...flags, ...drafts], cache.env);
    const written: string[] = [];
    for (const body of bodies) {
      written.push((await stream(`${server.url}/v1/completions`, body)).text);
    }
    texts.push(written);
    const numDrafts = await metric(server.url, 'chairlift_spec_decode_num_drafts_total');
    expect(numDrafts > 0).toBe(drafts.includes(draftModel));
    expect(await server.stop('SIGTERM')).toBe(0);
  }
  expect(texts[1]).toEqual(texts[0]);
});

it('refuses a durable cache, and says why', async () => {
  const flags = ['--model', await modelOf('lfm2'), '--port', '0', '--durable-kv'];
  const ended = await runToEnd(['serve', ...flags], cache.env);
  expect(ended.code).not.toBe(0);
  expect(ended.output).toMatch(/states/);
});
