import { type ChildProcess, spawn } from 'node:child_process';
import { createConnection } from 'node:net';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { post, stream } from '../support/http-client.ts';
import { childrenOf, until } from '../support/processes.ts';
import { engineOf, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const STARTED = /at http:\/\/\S+:(\d+)/;

/** Processes that a failed test would leave behind. */
const started = new Set<number>();
afterEach(() => {
  for (const pid of started) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  started.clear();
});

/** Runs `npm start`; resolves when the server answers. */
async function npmStart(): Promise<{ npm: ChildProcess; port: number; pids: number[] }> {
  const npm = spawn('npm', ['start', '--', '--port', '0', '--log-level', 'warn'], {
    env: { ...process.env, ...cache.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  npm.stdout.on('data', (data: Buffer) => (output += data.toString('utf8')));
  await until(() => STARTED.test(output), 'the start');
  const pids = descendantsOf(npm.pid ?? 0);
  for (const pid of pids) started.add(pid);
  return { npm, port: Number(STARTED.exec(output)?.[1]), pids };
}

function descendantsOf(pid: number): number[] {
  return childrenOf(pid).flatMap((child) => [child, ...descendantsOf(child)]);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function isFree(port: number): Promise<boolean> {
  const socket = createConnection(port, '127.0.0.1');
  return new Promise((resolve) => {
    socket.once('connect', () => resolve(false)).once('error', () => resolve(true));
  }).then((free) => {
    socket.destroy();
    return free === true;
  });
}

describe('npm start', () => {
  it.each(['SIGTERM', 'SIGHUP', 'SIGKILL'] as const)(
    'leaves nothing behind when npm gets %s',
    async (signal) => {
      const { npm, port, pids } = await npmStart();
      // The server and its engine, and where it stays the shell between.
      expect(pids.length).toBeGreaterThanOrEqual(2);
      npm.kill(signal);
      await until(() => !pids.some(isAlive), 'the end of the server and its engine');
      expect(await isFree(port)).toBe(true);
    },
  );

  it('takes a signal to the whole group for one, and finishes what is running', async () => {
    const { npm, port, pids } = await npmStart();
    const body = { messages: [{ role: 'user', content: 'A story.' }], temperature: 0 };
    let isUnderWay = false;
    const running = stream(
      `http://127.0.0.1:${port}/v1/chat/completions`,
      { ...body, max_tokens: 1000, ignore_eos: true },
      () => (isUnderWay = true),
    );
    await until(() => isUnderWay, 'the first piece');
    for (const pid of [npm.pid ?? 0, ...pids]) if (isAlive(pid)) process.kill(pid, 'SIGTERM');
    expect(await running).toMatchObject({ done: true, finishReason: 'length' });
    await until(() => !pids.some(isAlive), 'the end of the server and its engine');
  });
});

describe('a front that is killed', () => {
  it('takes its engine along, also in the middle of its work', async () => {
    const server = await startServer([], cache.env);
    const engine = engineOf(server);
    started.add(engine);
    const body = { messages: [{ role: 'user', content: 'A story.' }], max_tokens: 1500 };
    const response = await post(`${server.url}/v1/chat/completions`, { ...body, stream: true });
    await response.body?.getReader().read();
    server.child.kill('SIGKILL');
    await until(() => !isAlive(engine), 'the end of the engine');
    expect(server.child.signalCode).toBe('SIGKILL');
  });
});
