/** Everything that `npm run dev` starts: the command line, its processes and its threads, all from the sources. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { post } from '../support/http-client.ts';
import { engineOf, type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const SOURCES = [process.execPath, '--import', 'tsx', 'src/cli/main.ts'];

let server: ServerProcess;
beforeAll(async () => {
  server = await startServer([], cache.env, { program: { command: SOURCES, cwd: '.' } });
});
afterAll(async () => {
  await server.stop();
});

it.runIf(process.platform === 'linux')('are what its engine process runs', async () => {
  const line = await readFile(`/proc/${engineOf(server)}/cmdline`, 'utf8');
  expect(line).toContain('src/engine/process/main.ts');
});

it('answers', async () => {
  const response = await post(`${server.url}/v1/completions`, { prompt: 'Once', max_tokens: 1 });
  expect(await response.json()).toMatchObject({ usage: { completion_tokens: 1 } });
});

it('has threads, for a grammar and for a long conversation', async () => {
  const turns = Array.from({ length: 60 }, () => [
    { role: 'user', content: 'What is 2 + 3?' },
    { role: 'assistant', content: '2 + 3 is 5.' },
  ]);
  const response = await post(`${server.url}/v1/chat/completions`, {
    messages: [...turns.flat(), { role: 'user', content: 'Is it so?' }],
    structured_outputs: { choice: ['yes'] },
  });
  expect(await response.json()).toMatchObject({ choices: [{ message: { content: 'yes' } }] });
});
