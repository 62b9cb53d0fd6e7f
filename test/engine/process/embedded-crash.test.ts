/** A prompt with embeddings through a real process that is killed: it has them again, or needs them no more. */
import { afterAll, describe, expect, it } from 'vitest';
import { EngineClient } from '../../../src/front/engine-process/engine-client.ts';
import type { EngineOptions } from '../../../src/engine/process/protocol.ts';
import type { EngineRequest } from '../../../src/engine/request.ts';
import { buildSummit } from '../../support/crashing-engine.ts';
import { embeddedPrompt, tokenRows } from '../../support/embedded-prompts.ts';
import { engineRequest } from '../../support/engine-requests.ts';
import { LINUX, needs } from '../../support/needs.ts';
import { temporaryCache } from '../../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const never = new AbortController().signal;
// Texts that go on for far longer than this process may be kept from running: they are to be killed midway.
const MAX_TOKENS = 400;

// With kernels whose results are computed again to the same bits.
const model = await buildSummit({ cacheDirectory: cache.path, takesEmbeddings: true }, [
  'int8',
  'float32',
  'native',
]);
const rows = await tokenRows(model);
const options: EngineOptions = {
  model,
  maxNumSeqs: 4,
  maxModelLen: 512,
  maxNumBatchedTokens: 16,
  threads: 1,
  kvCacheMemory: 2 ** 28,
  prefixCaching: true,
  targetItlMs: null,
};

const promptTokenIds = Int32Array.from({ length: 80 }, (_, at) => 9 + ((at * 31) % 700));
const tokens = engineRequest({
  promptTokenIds,
  maxTokens: MAX_TOKENS,
  sampling: { temperature: 0.8, seed: 7n },
});
const stretches = [
  { start: 4, length: 30 },
  { start: 50, length: 24 },
];
const embedded = { ...tokens, ...embeddedPrompt(promptTokenIds, stretches, rows) };

/** @param killAfter tokens, each of which ends a process */
async function textOf(
  client: EngineClient,
  request: EngineRequest,
  killAfter: readonly number[] = [],
): Promise<number[]> {
  const text: number[] = [];
  const kills = [...killAfter];
  let killed: number | undefined;
  for await (const { tokenIds } of client.generate(request, never)) {
    text.push(...tokenIds);
    const { pid } = client;
    // Tokens that came with those before a kill say nothing of another process.
    if (text.length < (kills[0] ?? Infinity) || pid === undefined || pid === killed) continue;
    kills.shift();
    killed = pid;
    process.kill(pid, 'SIGKILL');
  }
  return text;
}

describe.each([
  ['by computing them again', false],
  ['from a durable KV cache', true],
])('a text after embeddings goes on %s', (_name, durableKv) => {
  it('as it would have without a crash', needs(LINUX), async () => {
    const client = new EngineClient();
    await client.start({ ...options, durableKv });
    expect(client.info.embeddingWidth).toBe(rows.width);
    const expected = await textOf(client, { ...tokens, cacheSalt: 'tokens' });
    expect(expected).toHaveLength(MAX_TOKENS);
    const others = [1, 2].map((id) => textOf(client, { ...embedded, cacheSalt: `${id}` }));
    const text = await textOf(client, { ...embedded, cacheSalt: 'own' }, [1, 9]);
    expect(client.numCrashes).toBe(2);
    expect([text, ...(await Promise.all(others))]).toEqual([expected, expected, expected]);
    await client.stop();
  });
});

it('a prompt with wrong embeddings fails alone', async () => {
  const client = new EngineClient();
  await client.start(options);
  const [first, second] = embedded.embeddings ?? [];
  const missing = textOf(client, { ...embedded, embeddings: first ? [first] : [] });
  const narrow = textOf(client, {
    ...embedded,
    embeddings: second && first ? [first, { ...second, rows: second.rows.slice(1) }] : [],
  });
  const plain = textOf(client, tokens);
  await expect(missing).rejects.toThrow('an embedding of the prompt is missing');
  await expect(narrow).rejects.toThrow('no whole rows');
  expect(await plain).toHaveLength(MAX_TOKENS);
  expect(client.numCrashes).toBe(0);
  await client.stop();
});
