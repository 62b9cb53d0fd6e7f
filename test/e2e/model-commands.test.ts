/** pull, list, show, rm, ps, stop and run, as users type them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ollama } from 'ollama';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { FakeHub } from '../support/fake-hub.ts';
import { post } from '../support/http-client.ts';
import { until } from '../support/processes.ts';
import { runCli, runToEnd, type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const QUESTION = 'What is 23 + 45?';
const cache = await temporaryCache();
let repository: string;
let hub: FakeHub;
let env: NodeJS.ProcessEnv;
const servers: ServerProcess[] = [];

beforeAll(async () => {
  repository = await mkdtemp(join(tmpdir(), 'repository-'));
  await cp('models/foothill', join(repository, 'story', '2'), { recursive: true });
  await cp('models/summit', join(repository, 'sums'), { recursive: true });
  const names = (await readdir('models/summit')).filter((name) =>
    /\.(json|safetensors)$/.test(name),
  );
  const files = await Promise.all(
    names.map(async (name) => [name, await readFile(join('models/summit', name))] as const),
  );
  hub = await FakeHub.start(Object.fromEntries(files));
  env = { ...cache.env, HF_ENDPOINT: hub.endpoint };
});
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});
afterAll(async () => {
  hub.stop();
  await cache.remove();
  await rm(repository, { recursive: true, force: true });
});

async function serve(...args: readonly string[]): Promise<ServerProcess> {
  const server = await startServer(['--model-repository', repository, ...args], env);
  servers.push(server);
  return server;
}

const chairlift = (...args: readonly string[]) => runToEnd(args, env);
const answer = { code: 0, output: expect.stringContaining('68') };
const greedy = ['--temperature', '0'];

/** One line, no stack trace, exit code 1. */
function expectFailure({ code, output }: { code: unknown; output: string }, message: RegExp) {
  expect(output).toMatch(message);
  expect(output.trim().split('\n')).toHaveLength(1);
  expect(code).toBe(1);
}

test('a model is pulled, listed, shown, run and removed', async () => {
  expectFailure(await chairlift('show', 'owner/name'), /chairlift pull hf:owner\/name/);
  expectFailure(
    await chairlift('run', 'owner/name', QUESTION, '--offline', '--no-server'),
    /--offline/,
  );
  const pulled = await chairlift('pull', 'owner/name');
  expect(pulled).toMatchObject({ code: 0, output: expect.stringContaining(cache.path) });
  const { output: listed } = await chairlift('list', '--model-repository', repository);
  expect(listed).toMatch(/^NAME +FROM +SIZE +MODIFIED\n/);
  expect(listed).toMatch(/^owner\/name +downloaded +\d+ MiB +\d+ \w+ ago$/m);
  expect(listed).toMatch(/^summit +embedded +/m);
  expect(listed).toMatch(/^story +repository +/m);
  const { output: shown } = await chairlift('show', 'hf:owner/name');
  expect(shown).toMatch(/context +2048 tokens/);
  expect(shown).toMatch(/parameters +5\.5M/);
  expect(await chairlift('run', 'owner/name', QUESTION, '--no-server', ...greedy)).toEqual(answer);
  expectFailure(await chairlift('rm', 'owner/name'), /cannot ask without a terminal; use --yes/);
  expect((await chairlift('list')).output).toContain('owner/name');
  expect(await chairlift('rm', 'owner/name', '--yes')).toMatchObject({ code: 0 });
  expect((await chairlift('list')).output).not.toContain('owner/name');
  expectFailure(await chairlift('rm', 'owner/name', '--yes'), /has not been downloaded/);
});

test('run samples as llama.cpp what a model names no value for', async () => {
  const folder = join(repository, 'bare', '1');
  await cp('models/foothill', folder, { recursive: true });
  await rm(join(folder, 'generation_config.json'));
  const told = async (...flags: readonly string[]) => {
    const long = ['--max-tokens', '60', '--seed', '7', ...flags];
    const { code, output } = await chairlift(
      'run',
      '--no-server',
      ...long,
      folder,
      'Tell a story.',
    );
    expect({ code, output }).toMatchObject({ code: 0 });
    // Before it there may be the bar of a build.
    return output.trim().split('\n').at(-1);
  };
  const named = ['--temperature', '0.8', '--top-k', '40', '--top-p', '0.95', '--min-p', '0.05'];
  const expected = await told(...named);
  expect(await told()).toBe(expected);
  expect(await told('--temperature', '1', '--top-k', '0', '--top-p', '1')).not.toBe(expected);
});

describe('against a server', () => {
  test('run answers once, ps shows the model, stop unloads it', async () => {
    const server = await serve();
    const at = ['--url', server.url];
    expect((await chairlift('ps', ...at)).output).toMatch(/^NAME +SIZE +CONTEXT +UNTIL$/m);
    expect(await chairlift('run', 'sums', QUESTION, ...at, ...greedy)).toEqual(answer);
    const piped = await runToEnd(['run', 'sums', ...at, ...greedy], env, { input: QUESTION });
    expect(piped).toEqual(answer);
    const { output } = await chairlift('ps', ...at);
    expect(output).toMatch(/^sums:latest +\d+ MiB +2048 +[34] minutes from now$/m);
    expect(await chairlift('stop', 'sums:latest', ...at)).toEqual({
      code: 0,
      output: 'unloaded sums:latest\n',
    });
    expect((await chairlift('ps', ...at)).output).not.toContain('sums');
    expectFailure(await chairlift('run', 'sum', QUESTION, ...at), /404: .*`sum` .*`sums`/);
    expectFailure(await chairlift('stop', 'sum', ...at), /404: .*`sum` does not exist/);
  });

  test('a key is sent, and a wrong one told', async () => {
    const keys = ['--api-key', 'user', '--admin-api-key', 'admin'];
    const { url } = await serve(...keys);
    expectFailure(await chairlift('ps', '--url', url), /401: No API key/);
    expect(await chairlift('ps', '--url', url, '--api-key', 'user')).toMatchObject({ code: 0 });
    const stop = ['stop', 'sums', '--url', url, '--api-key'];
    expectFailure(await chairlift(...stop, 'user'), /403: .*admin/);
    expect(await chairlift(...stop, 'admin')).toMatchObject({ code: 0 });
  });

  test('Ctrl-C ends a single answer', async () => {
    const { url } = await serve();
    const child = runCli(['run', 'sums', 'Tell me a story about a fox.', '--url', url], env);
    let output = '';
    child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await until(() => output !== '', 'an answer');
    child.kill('SIGINT');
    expect((await once(child, 'close'))[0]).toBe(130);
  });

  test('a server that is gone, or was never there', async () => {
    const server = await serve();
    await server.stop();
    for (const args of [['ps'], ['stop', 'sums'], ['run', 'sums', 'Hi']]) {
      expectFailure(await chairlift(...args, '--url', server.url), /no server answers at/);
    }
  });

  test('a model is pulled into it, served by its name, and unloaded', async () => {
    const { url } = await serve('--model-control', 'auto');
    const ollama = new Ollama({ host: url });
    const model = 'hf.co/owner/name';
    const states: string[] = [];
    for await (const { status } of await ollama.pull({ model, stream: true })) states.push(status);
    expect(states.at(0)).toBe('pulling manifest');
    expect(states.at(-1)).toBe('success');
    const messages = [{ role: 'user', content: QUESTION }];
    const options = { temperature: 0 };
    const { message } = await ollama.chat({ model, messages, options });
    expect(message.content).toContain('68');
    expect((await ollama.ps()).models.map(({ name }) => name)).toEqual(['owner/name:latest']);
    const { capabilities, details } = await ollama.show({ model });
    expect(capabilities).toEqual(['completion', 'tools']);
    expect(details).toMatchObject({ family: 'llama', parameter_size: '5.5M' });
    await ollama.chat({ model, messages: [], keep_alive: 0 });
    expect((await ollama.ps()).models).toEqual([]);
    hub.status = 404;
    const unknown = await post(`${url}/api/pull`, { model: 'hf.co/owner/other' });
    expect(await unknown.text()).toMatch(/\{"error":".*owner\/other/);
    hub.status = 200;
  });
});

describe('run in a terminal', () => {
  /** Gives a command a terminal of its own; `script` is of util-linux. */
  function inTerminal(command: string) {
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      env: { ...process.env, ...env },
    });
    let shown = '';
    child.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()));
    const type = async (text: string, pattern: RegExp) => {
      const before = shown.length;
      child.stdin.write(text);
      await until(() => pattern.test(shown.slice(before)), `${pattern} after ${text}`);
    };
    return { child, type };
  }

  test('chats, stops at Ctrl-C and leaves at Ctrl-D', async () => {
    const { url } = await serve();
    const run = `${process.execPath} dist/cli/main.js run sums --temperature 0 --url ${url}`;
    const { child, type } = inTerminal(run);
    await type('', />>> /);
    await type(`${QUESTION}\r`, /68[^]*>>> /);
    await type('Tell me a story about a fox.\r', /\w+ \w+ \w+\.? /);
    await type('\u0003', />>> /);
    child.stdin.write('\u0004');
    expect((await once(child, 'close'))[0]).toBe(0);
  });
});
