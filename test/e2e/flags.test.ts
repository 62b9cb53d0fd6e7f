/** Flags as operators set them: files of secrets, several names, sampling, templates, --check. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runToEnd, type ServerProcess, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
const QUESTION = [{ role: 'user', content: 'What is 23 + 45?' }];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chairlift-flags-'));
});
afterAll(async () => {
  await cache.remove();
  await rm(folder, { recursive: true });
});

/** Variables of a Service called chairlift, in every pod of its namespace. */
const SERVICE_LINKS = {
  CHAIRLIFT_PORT: 'tcp://10.96.0.12:80',
  CHAIRLIFT_PORT_80_TCP: 'tcp://10.96.0.12:80',
  CHAIRLIFT_PORT_80_TCP_ADDR: '10.96.0.12',
  CHAIRLIFT_SERVICE_HOST: '10.96.0.12',
  CHAIRLIFT_SERVICE_PORT_HTTP: '80',
};

describe('a server', () => {
  let server: ServerProcess;
  beforeAll(async () => {
    await writeFile(join(folder, 'admin'), 'admin-word\n');
    await writeFile(join(folder, 'resume'), 'a secret of all replicas\n');
    await writeFile(
      join(folder, 'chat.jinja'),
      "{{ '<|im_start|>user\\nWhat is 1 + 1?<|im_end|>\\n<|im_start|>assistant\\n' }}",
    );
    const files = ['--admin-api-key-file', join(folder, 'admin')];
    server = await startServer(
      [
        'summit',
        ...['--served-model-name', 'sums', 'gpt-4o-mini', ...files],
        ...['--resume-key-file', join(folder, 'resume'), '--no-prefix-caching'],
        ...['--temperature', '0', '--enable-auto-tool-choice', '-np', '4'],
      ],
      {
        ...cache.env,
        ...SERVICE_LINKS,
        CHAIRLIFT_LOG_PROMPTS: 'false',
        CHAIRLIFT_MAX_NUM_SEQ: '7',
        CHAIRLIFT_API_KEY: 'user-word',
      },
    );
  });
  afterAll(() => server.stop());

  const ask = async (path: string, key: string) => {
    const response = await fetch(`${server.url}${path}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const body: unknown = await response.json();
    return body;
  };

  it('starts next to a Service of its name, and warns of what is no flag', () => {
    expect(server.output()).toMatch(/CHAIRLIFT_MAX_NUM_SEQ is no flag .*CHAIRLIFT_MAX_NUM_SEQS/);
    expect(server.output()).toMatch(/not needed here, and left out: --enable-auto-tool-choice/);
    expect(server.output()).not.toContain('CHAIRLIFT_SERVICE');
  });

  it('answers to all of its names, with the first, and by the sampling of its flags', async () => {
    expect(await ask('/v1/models', 'user-word')).toMatchObject({
      data: [{ id: 'sums' }, { id: 'gpt-4o-mini', root: 'sums' }],
    });
    const answers = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const response = await fetch(`${server.url}/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: 'Bearer user-word', 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'gpt-4o-mini', messages: QUESTION }),
        });
        return Object(await response.json());
      }),
    );
    for (const { model, choices } of answers) {
      expect(model).toBe('sums');
      // Greedy: its own generation_config.json says otherwise.
      expect(choices[0].message.content).toBe('23 + 45 = 68.');
    }
  });

  it('shows switches by their positive names, and no secrets', async () => {
    const { data } = Object(await ask('/admin/config', 'admin-word'));
    const of = (flag: string) => data.find((each: { flag: string }) => each.flag === flag);
    expect(of('--prefix-caching')).toMatchObject({ value: false, source: 'flag' });
    expect(of('--log-prompts')).toMatchObject({ value: false, source: 'environment' });
    expect(of('--max-num-seqs')).toMatchObject({ value: 4, source: 'flag' });
    expect(of('--port')).toMatchObject({ source: 'flag' });
    expect(JSON.stringify(data)).not.toMatch(/admin-word|user-word|a secret of all/);
  });
});

describe('--chat-template', () => {
  it('goes before that of the model, for generate as for serve', async () => {
    const args = ['--model', 'summit', '--chat-template', join(folder, 'chat.jinja')];
    const { code, output } = await runToEnd(
      ['generate', 'What is 23 + 45?', '--temperature', '0', ...args],
      cache.env,
    );
    expect(output).toContain('1 + 1 = 2');
    expect(code).toBe(0);
  });
});

describe('serve --check', () => {
  const check = (...args: readonly string[]) => runToEnd(['serve', '--check', ...args], cache.env);

  it('says what would be served, and starts nothing', async () => {
    const { code, output } = await check('summit', '--port', '1', '-c', '512');
    expect(output).toMatch(/address +http:\/\/127\.0\.0\.1:1$/m);
    expect(output).toMatch(/summit +llama, 5\.5M parameters, .* 32 sequences of 512 tokens/);
    expect(output).toMatch(/nothing was started/);
    expect(code).toBe(0);
  });

  it.each([
    [2, ['--port', 'x'], /--port x: expected/],
    [2, ['--tls-cert', 'x'], /--tls-cert and --tls-key go together/],
    [2, ['summit', '-c', '4096'], /exceeds the 2048 positions/],
    [2, ['--chat-template', '{{'], /--chat-template: .*damaged/],
    [1, ['--api-key-file', '/nowhere'], /--api-key-file \/nowhere: no such file/],
    [1, ['sumit'], /Did you mean summit/],
    [1, ['--kv-cache-memory', '9999g'], /CANNOT BE SERVED: weights and KV cache take/],
    [1, ['--adapter', '/nowhere'], /not a folder with an adapter/],
    [1, ['--offline', 'owner/name'], /owner\/name is not on this machine/],
  ])('ends with %d: %j', async (status, args, message) => {
    const { code, output } = await check(...args);
    expect(output).toMatch(message);
    expect(output).not.toMatch(/\n {4}at /);
    expect(code).toBe(status);
  });

  it('warns of --lora-dir that leads nowhere', async () => {
    const { code, output } = await check('--lora-dir', '/nowhere');
    expect(output).toContain('--lora-dir /nowhere: there is no such folder');
    expect(code).toBe(0);
  });
});
