/** A server with a configuration file: what can be seen of it and changed while it runs, and its end. */
import { access, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { post, stream } from '../support/http-client.ts';
import { until } from '../support/processes.ts';
import { runToEnd, type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
const folder = await mkdtemp(join(tmpdir(), 'chairlift-operating-'));
const config = join(folder, 'chairlift.yaml');
afterAll(async () => {
  await rm(folder, { recursive: true });
  await cache.remove();
});

const question = { messages: [{ role: 'user', content: 'What is 2 + 3?' }], temperature: 0 };
const story = { prompt: 'Once upon a time', max_tokens: 300, ignore_eos: true, temperature: 0 };

describe('a server with a configuration file', () => {
  let server: ServerProcess;

  beforeAll(async () => {
    await writeFile(config, 'max-num-seqs: 3\ndrain-delay: 5\ndrain-status: 404\nmetrics-port: 0');
    const flags = ['--config', config, '--log-format', 'text'];
    const env = { ...cache.env, TMPDIR: folder, CHAIRLIFT_LOG_LEVEL: '' };
    server = await startServer(flags, env);
  });
  afterAll(async () => {
    await server.stop('SIGKILL');
  });

  it('takes its flags from there', async () => {
    const slots = z
      .array(
        z.looseObject({ is_processing: z.boolean(), completion_tokens: z.number().optional() }),
      )
      .parse(await (await fetch(`${server.url}/slots`)).json());
    const idle = slots.length;
    expect(idle).toBeGreaterThanOrEqual(3);
    expect(slots.every(({ is_processing: isBusy }) => !isBusy)).toBe(true);
    const running = stream(`${server.url}/v1/completions`, story);
    await until(async () => {
      const text = await (await fetch(`${server.url}/slots`)).text();
      return /"is_processing":true.*"prompt_tokens":\d+.*"completion_tokens":[1-9]/.test(text);
    }, 'a slot at work');
    await running;
    expect((await fetch(`${server.url}/metrics`)).status).toBe(404);
  });

  it('reads it again at SIGHUP', async () => {
    const limits = async () =>
      (await post(`${server.url}/v1/chat/completions`, question)).headers.get(
        'x-ratelimit-limit-requests',
      );
    expect(await limits()).toBeNull();
    await writeFile(config, 'max-num-seqs: 4\nrate-limit-requests: 50');
    server.child.kill('SIGHUP');
    await until(async () => (await limits()) === '50', 'the limit');
    // It was started with --log-level warn, which wins.
    expect(server.output()).not.toContain('configuration reloaded');
    expect(server.output()).toMatch(/WARN {2}these take effect at the next start.*max-num-seqs/);
    await writeFile(config, 'max-nun-seqs: 4');
    server.child.kill('SIGHUP');
    await until(() => server.output().includes('no flag `max-nun-seqs`'), 'an error');
    expect(await limits()).toBe('50');
  });

  it('writes its state and heap at SIGUSR2, for its user alone', async () => {
    server.child.kill('SIGUSR2');
    await until(() => server.output().includes('state and heap are written'), 'a dump');
    const names = await readdir(folder);
    const dump = names.find((name) => name.startsWith('chairlift-dump')) ?? '';
    const state = join(folder, dump, 'state.json');
    expect((await stat(state)).mode % 0o1000).toBe(0o600);
    expect(JSON.parse(await readFile(state, 'utf8'))).toMatchObject({ engine_state: 'ready' });
    await access(join(folder, dump, 'front.heapsnapshot'));
  });

  it('is found by a probe of the same flags, ready and alive', async () => {
    const flags = ['--config', config, '--port', new URL(server.url).port];
    for (const args of [flags, ['--ready', ...flags]]) {
      expect(await runToEnd(['probe', ...args])).toEqual({ code: 0, output: '{"status":"ok"}\n' });
    }
    const { code, output } = await runToEnd(['probe', '--port', '1']);
    expect({ code, lines: output.trim().split('\n').length }).toEqual({ code: 1, lines: 1 });
  });

  it('takes requests for a while after SIGTERM, with /ready gone, then ends', async () => {
    const stopped = server.stop('SIGTERM');
    await until(async () => (await fetch(`${server.url}/ready`)).status === 404, '404');
    expect((await post(`${server.url}/v1/chat/completions`, question)).status).toBe(200);
    expect(await stopped).toBe(0);
  });
});

it('a wrong file ends the start with a line that says what is wrong', async () => {
  await writeFile(config, 'max-num-seq: 4');
  const { code, output } = await runToEnd(['serve', '--config', config], cache.env);
  expect(code).toBe(2);
  expect(output).toContain(`chairlift: ${config}: there is no flag \`max-num-seq\``);
  expect(output).toContain('there is `max-num-seqs`');
  expect(output.trim().split('\n')).toHaveLength(1);
});
