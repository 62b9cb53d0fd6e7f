/** Beam searches over HTTP: in any batch, through a kill, and with clients that leave. */
import { afterAll, describe, expect, it } from 'vitest';
import { metric, post } from '../support/http-client.ts';
import { LINUX, needs } from '../support/needs.ts';
import { killNow, until } from '../support/processes.ts';
import { engineOf, type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
const servers: ServerProcess[] = [];
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  await cache.remove();
});

const flags = ['--kernels', 'native', '--precision', 'int8', '--max-num-seqs', '6'];
const search = (index: number) => ({
  prompt: `<|im_start|>user\nTell me a story about the number ${index}.<|im_end|>\n<|im_start|>assistant\n`,
  use_beam_search: true,
  n: 4,
  max_tokens: 64,
  min_tokens: 60,
  logprobs: 0,
  return_token_ids: true,
});

async function start(): Promise<string> {
  const server = await startServer(flags, cache.env);
  servers.push(server);
  return server.url;
}

const runningOf = (url: string) => metric(url, 'chairlift_num_requests_running');
const stepsOf = (url: string) => metric(url, 'chairlift_engine_steps_total');

async function textsOf(url: string, index: number): Promise<unknown> {
  const response = await post(`${url}/v1/completions`, search(index));
  expect(response.status).toBe(200);
  const { choices } = (await response.json()) as { choices: unknown[] };
  expect(choices).toHaveLength(4);
  return choices;
}

describe('beam searches', () => {
  it(
    'find the same texts alone, beside others, and through a kill',
    { ...needs(LINUX), timeout: 240_000 },
    async () => {
      const url = await start();
      const indexes = [1, 2, 3];
      const alone: unknown[] = [];
      for (const index of indexes) alone.push(await textsOf(url, index));
      const chats = Array.from({ length: 4 }, (_, at) =>
        post(`${url}/v1/completions`, { prompt: `Story ${at}:`, max_tokens: 80, ignore_eos: true }),
      );
      expect(await Promise.all(indexes.map((index) => textsOf(url, index)))).toEqual(alone);
      for (const response of await Promise.all(chats)) await response.text();

      const [server] = servers;
      if (server === undefined) throw new Error('no server was started');
      const before = await stepsOf(url);
      const again = Promise.all(indexes.map((index) => textsOf(url, index)));
      await until(async () => (await stepsOf(url)) > before, 'a search');
      killNow(engineOf(server));
      expect(await again).toEqual(alone);
    },
  );

  it('hold nothing once their clients have left', async () => {
    const url = servers[0]?.url ?? (await start());
    const leaving = new AbortController();
    const long = { ...search(9), max_tokens: 400, min_tokens: 400 };
    const all = Array.from({ length: 3 }, () =>
      post(`${url}/v1/completions`, long, leaving.signal).catch(() => null),
    );
    await until(async () => (await runningOf(url)) > 0, 'a search');
    leaving.abort();
    expect(await Promise.all(all)).toEqual([null, null, null]);
    await until(async () => (await runningOf(url)) === 0, 'the end of all');
  }, 60_000);
});
