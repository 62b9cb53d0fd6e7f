/** Assertions that need a server of one's own, to start and kill: not run against a given address. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { orLong } from '../../support/long-runs.ts';
import { until } from '../../support/processes.ts';
import { runCli, startServer, type ServerProcess } from '../../support/server-process.ts';
import { CHAT, errorIn, errorOf, Target, textOf, USER } from '../support/target.ts';

/** A story long enough to be at work when something happens. */
const LONG = { messages: [USER], max_tokens: 1500, ignore_eos: true, temperature: 0 };

export function ownProcess(env: NodeJS.ProcessEnv): void {
  const servers: ServerProcess[] = [];
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.stop('SIGKILL')));
  });
  const start = async (...args: string[]): Promise<{ server: ServerProcess; target: Target }> => {
    const server = await startServer(args, env);
    servers.push(server);
    return { server, target: await new Target(server.url, 'key').connect() };
  };
  const isAtWork = async (target: Target): Promise<boolean> =>
    /"state":\s*"decode"/.test(await (await target.get('/v1/requests')).text());

  test('#4 a bad key is 401 authentication_error; /health and /models are open; X-Api-Key works (llama.cpp)', async () => {
    const { server } = await start('--api-key', 'key');
    const body = JSON.stringify({ messages: [USER], max_tokens: 2 });
    const post = (headers: Record<string, string>): Promise<Response> =>
      fetch(`${server.url}${CHAT}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      });
    for (const headers of [{}, { authorization: 'Bearer wrong' }, { 'x-api-key': 'wrong' }]) {
      expect((await errorOf(await post(headers), 401)).type).toBe('authentication_error');
    }
    expect((await post({ 'x-api-key': 'key' })).status).toBe(200);
    for (const path of ['/health', '/models']) {
      expect((await fetch(`${server.url}${path}`)).status).toBe(200);
    }
  });

  // A server each: for continuous integration.
  if (orLong(false, true)) interrupted(start, isAtWork, env);
}

function interrupted(
  start: (...args: string[]) => Promise<{ server: ServerProcess; target: Target }>,
  isAtWork: (target: Target) => Promise<boolean>,
  env: NodeJS.ProcessEnv,
): void {
  test('#14 a failure in mid-stream is an error event, then [DONE] (vLLM)', async () => {
    const { target } = await start('--request-timeout', '0.3');
    // Drafts could make all of one greedy text, which repeats itself, in that time.
    const several = { ...LONG, n: 8, temperature: 1 };
    const { events, isDone } = await target.stream(CHAT, several);
    expect(isDone).toBe(true);
    expect(errorIn(events.at(-1))?.message.length).toBeGreaterThan(0);
  });

  test('#23 SIGTERM: what is at work finishes, what is new is refused (vLLM)', async () => {
    const { server, target } = await start();
    const running = target.chunks(CHAT, { ...LONG, max_tokens: 1200 });
    await until(() => isAtWork(target), 'a running request');
    const stopped = server.stop('SIGTERM');
    await until(async () => (await target.get('/ready')).status === 503, 'draining');
    expect((await target.post(CHAT, { messages: [USER] })).status).toBe(503);
    const chunks = await running;
    expect(textOf(chunks).length).toBeGreaterThan(0);
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('length');
    expect(await stopped).toBe(0);
  });

  test('#23 with a timeout of 0 it exits within 4 s (vLLM)', async () => {
    const { server, target } = await start('--shutdown-timeout', '0');
    const running = target.post(CHAT, LONG).catch(() => null);
    await until(() => isAtWork(target), 'a running request');
    const startedAt = performance.now();
    await server.stop('SIGTERM');
    expect(performance.now() - startedAt).toBeLessThan(4000);
    await running;
  });

  test('#24 /health is 503 while the model loads (llama.cpp)', async () => {
    const port = await freePort();
    const child = runCli(['serve', '--port', String(port), '--log-level', 'warn'], env);
    const closed = once(child, 'close');
    const seen: number[] = [];
    while (!seen.includes(200)) {
      const response = await fetch(`http://127.0.0.1:${port}/health`).catch(() => null);
      if (response !== null) seen.push(response.status);
    }
    child.kill('SIGTERM');
    await closed;
    expect(new Set(seen)).toEqual(new Set([503, 200]));
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}
