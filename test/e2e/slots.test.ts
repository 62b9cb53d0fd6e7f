/** Texts that are saved with /slots/{id}, across a restart, by two servers of one folder. */
import { expect, it } from 'vitest';
import { type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const PROMPT = 'A fox met a hare in the wood and said hello. '.repeat(40);
const SAVED = { filename: 'talk.bin' };

interface Answer {
  readonly content?: string;
  readonly tokens_cached?: number;
  readonly n_saved?: number;
}

async function post({ url }: ServerProcess, path: string, body: object): Promise<Answer> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const answer = (await response.json()) as Answer;
  expect({ status: response.status, answer }).toMatchObject({ status: 200 });
  return answer;
}

/** Tokens of the prompt that were found, and the text. */
async function ask(server: ServerProcess) {
  const body = { prompt: PROMPT, n_predict: 8, temperature: 0 };
  const { tokens_cached: cached, content } = await post(server, '/completion', body);
  return { cached, content };
}

it('a text that was saved is warm again after a restart, and cold without', async () => {
  const folder = await temporaryDirectory();
  const flags = ['--prefix-cache-dir', folder, '--max-num-seqs', '2', '--warmup', 'off'];
  const first = await startServer(flags);
  const { content, cached } = await ask(first);
  expect(cached).toBe(0);
  const { n_saved: saved = 0 } = await post(first, '/slots/0?action=save', SAVED);
  expect(saved).toBeGreaterThan(400);
  expect(await first.stop()).toBe(0);
  const [second, third] = await Promise.all([startServer(flags), startServer(flags)]);
  const restored = await Promise.all(
    [second, third].map((server) => post(server, '/slots/0?action=restore', SAVED)),
  );
  for (const answer of restored) expect(answer).toMatchObject({ n_restored: saved });
  for (const server of [second, third]) {
    const again = await ask(server);
    expect(again.content).toBe(content);
    expect(again.cached).toBeGreaterThan(saved - 40);
    expect(await server.stop()).toBe(0);
  }
});
