import { cp, mkdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { FakeHub } from '../support/fake-hub.ts';
import { stream } from '../support/http-client.ts';
import { runToEnd, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

async function copyOfSummit(name: string): Promise<string> {
  const folder = join(cache.path, name);
  await cp('models/summit', folder, { recursive: true });
  return folder;
}

/** One paragraph, no stack trace. @param status 1 of a failure, 2 of a wrong command line */
function expectFailure(
  { code, output }: { code: unknown; output: string },
  message: RegExp,
  status = 1,
) {
  expect(output).toMatch(message);
  expect(output.trim().split('\n')).toHaveLength(1);
  expect(code).toBe(status);
}

describe('help', () => {
  it('lists the commands, and the flags of each', async () => {
    const { code, output } = await runToEnd(['--help']);
    expect(code).toBe(0);
    for (const command of ['serve', 'generate', 'build']) expect(output).toContain(command);
    const { output: serve } = await runToEnd(['serve', '--help']);
    expect(serve).toMatch(/--max-num-seqs <n> +sequences .*\(default: 32\)/);
    const all = await runToEnd(['serve', '--help-all']);
    expect(all).toMatchObject({ code: 0, output: expect.stringContaining('--kv-events-replay') });
    expect(await runToEnd(['--version'])).toMatchObject({ code: 0 });
    expect((await runToEnd(['chta'])).output).toContain('did you mean chat');
  });
});

describe('one line says what is wrong with', () => {
  it('a missing model folder', async () => {
    const { code, output } = await runToEnd(['serve', join(cache.path, 'nowhere')]);
    expect(output).toMatch(
      /^chairlift: there is no model .*nowhere: no folder or file, and no name/,
    );
    expect(output).toContain('docs/models-and-precision.md');
    expect(output.trim().split('\n')).toHaveLength(2);
    expect(code).toBe(1);
  });

  it('a model of an unsupported kind', async () => {
    const folder = await copyOfSummit('mamba');
    const config = JSON.parse(await readFile(join(folder, 'config.json'), 'utf8'));
    await writeFile(
      join(folder, 'config.json'),
      JSON.stringify({ ...config, model_type: 'mamba' }),
    );
    expectFailure(await runToEnd(['serve', '--model', folder]), /mamba.*llama/);
  });

  it('a corrupt weight file, naming file and tensor', async () => {
    const folder = await copyOfSummit('cut');
    const weights = await readFile('models/summit/model.safetensors');
    await writeFile(join(folder, 'model.safetensors'), weights.subarray(0, weights.length - 100));
    const result = await runToEnd(['build', '--model', folder], cache.env);
    expectFailure(result, /model\.safetensors.*(model\.|lm_head)\S+/);
  });

  it('a missing tokenizer', async () => {
    const folder = await copyOfSummit('mute');
    await rm(join(folder, 'tokenizer.json'));
    const result = await runToEnd(['serve', folder, '--port', '0']);
    expectFailure(result, /tokenizer\.json is missing/);
  });

  it('a port that is taken', async () => {
    const blocker = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => blocker.once('listening', resolve));
    const address = blocker.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const result = await runToEnd(['serve', '--port', String(port)], cache.env);
    blocker.close();
    expectFailure(result, new RegExp(`port ${port} on 127.0.0.1 is taken`));
  });

  it.each([
    [['serve', '--port', 'eighty'], /--port.*eighty/],
    [['serve', '--precision', 'int3'], /--precision.*int3/],
    [['serve', '--max-num-seqs', '0'], /--max-num-seqs/],
    [
      ['serve', '--max-num-seqs', '64', '--max-num-batched-tokens', '32'],
      /below --max-num-seqs 64/,
    ],
    [['serve', '--max-model-len', '4096'], /--max-model-len 4096 exceeds the 2048 positions/],
    [['serve', '--max-body', 'huge'], /size such as 8m/],
    [['serve', '--device', 'cpu', '--attention', 'paged'], /PagedAttention .* cpu has none/],
  ])('the flags %j', async (args, message) => {
    expectFailure(await runToEnd(args), message, 2);
  });

  it('a bad environment variable', async () => {
    const result = await runToEnd(['serve'], { CHAIRLIFT_PORT: '99999' });
    expectFailure(result, /^chairlift: CHAIRLIFT_PORT=99999: expected a whole number/, 2);
  });
});

describe('generate', () => {
  it('prints an answer', async () => {
    const args = ['generate', 'What is 23 + 45?', '--temperature', '0'];
    expect(await runToEnd(args, cache.env)).toEqual({
      code: 0,
      output: expect.stringContaining('68'),
    });
  });

  it('completes a raw prompt, the same for the same seed', async () => {
    const args = ['generate', 'Once upon a', '--raw', '--max-tokens', '12', '--seed', '5'];
    const first = await runToEnd(args, cache.env);
    expect(first.code).toBe(0);
    expect(await runToEnd(args, cache.env)).toEqual(first);
  });

  it('says in one line that the chat template refuses the prompt', async () => {
    const model = await copyOfSummit('refuses');
    const file = join(model, 'tokenizer_config.json');
    const config = JSON.parse(await readFile(file, 'utf8')) as object;
    const chat_template = "{{ raise_exception('no system message') }}";
    await writeFile(file, JSON.stringify({ ...config, chat_template }));
    const args = ['generate', 'Hello', '--system', 'Be brief.', '--model', model];
    expectFailure(
      await runToEnd(args, cache.env),
      /^chairlift: the chat template refuses this prompt: no system message$/m,
    );
  });

  it('says in one line that the prompt and its output do not fit', async () => {
    const args = ['generate', 'Hello', '--max-tokens', '4000', '--max-model-len', '64'];
    expectFailure(await runToEnd(args, cache.env), /context length is 64 tokens/);
  });
});

describe('build', () => {
  it('downloads a model from the hub', async () => {
    const names = ['config.json', 'tokenizer.json', 'tokenizer_config.json', 'model.safetensors'];
    const files = await Promise.all(
      names.map(async (name) => [name, await readFile(join('models/summit', name))] as const),
    );
    const hub = await FakeHub.start(Object.fromEntries(files));
    const env = { ...cache.env, HF_ENDPOINT: hub.endpoint };
    const args = ['generate', 'What is 23 + 45?', '--model', 'hf:owner/name', '--temperature', '0'];
    const { code, output } = await runToEnd(args, env);
    hub.stop();
    expect(output).toContain('68');
    expect(code).toBe(0);
    const again = await runToEnd(['build', '--model', 'hf:owner/name'], env);
    expect(again.output).toContain('cannot be reached; using what was downloaded before');
    expect(again.code).toBe(0);
  });

  it('builds once; the second time it only says where', async () => {
    await mkdir(join(cache.path, 'other'));
    const env = { CHAIRLIFT_CACHE: join(cache.path, 'other') };
    const args = ['build', '--model', 'tiny', '--random-weights', '7'];
    const first = await runToEnd(args, env);
    expect(first.output).toContain('building the model');
    const second = await runToEnd(args, env);
    expect(second.code).toBe(0);
    expect(second.output).not.toContain('building the model');
    expect(first.output.endsWith(second.output)).toBe(true);
  });
});

describe('the cache', () => {
  it('builds again what is damaged, and says so in a line', async () => {
    const env = { CHAIRLIFT_CACHE: join(cache.path, 'damaged') };
    const args = ['generate', 'What is 23 + 45?', '--temperature', '0'];
    await runToEnd(args, env);
    const folder = (await runToEnd(['build'], env)).output.trim().split('\n').at(-1) ?? '';
    await truncate(join(folder, 'decoder.onnx.data'), 100_000);
    const { code, output } = await runToEnd(args, env);
    expect(output).toMatch(
      /^chairlift: .* is damaged, decoder\.onnx\.data has 100000 of its \d+ bytes: building it again$/m,
    );
    expect(output).toContain('68');
    expect(code).toBe(0);
    expect((await runToEnd(args, env)).output).not.toContain('damaged');
  });

  it.each([
    ['build', []],
    ['generate', ['hello']],
    ['serve', ['--port', '0']],
  ])('that cannot be written to fails %s in words', async (command, args) => {
    const file = join(cache.path, 'file');
    await writeFile(file, '');
    const result = await runToEnd([command, ...args], { CHAIRLIFT_CACHE: join(file, 'cache') });
    expectFailure(result, /^chairlift: the cache .*file.cache cannot be written to, .*CHAIRLIFT_/);
  });
});

describe('an ONNX export', () => {
  it('is served as it is', async () => {
    const server = await startServer(['--model', 'test/exports/genai'], cache.env);
    expect(server.output()).toMatch(/genai \(gemma2, .*fp32 on cpu.* picked model\.onnx/s);
    const references = JSON.parse(await readFile('test/exports/reference.json', 'utf8'));
    const [{ prompt, greedy }] = references['genai/model.onnx'];
    const body = { prompt, max_tokens: greedy.length, temperature: 0, return_token_ids: true };
    const response = await fetch(`${server.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, ignore_eos: true }),
    });
    expect(await response.json()).toMatchObject({ choices: [{ token_ids: greedy }] });
    expect(await server.stop()).toBe(0);
  });

  it('without a graph of the wanted precision says which there are', async () => {
    const args = ['serve', '--model', 'test/exports/hub', '--precision', 'int8'];
    expectFailure(
      await runToEnd(args, cache.env),
      /no graph in int8 for cpu.*onnx\/model_q4\.onnx/,
      2,
    );
  });
});

describe('a bare shape', () => {
  it('is served with a placeholder tokenizer', async () => {
    const args = ['--model', 'tiny', '--random-weights', '1', '--served-model-name', 'shape'];
    const server = await startServer(args, cache.env);
    const body = { model: 'shape', prompt: [5, 6, 7], max_tokens: 9, ignore_eos: true };
    const { finishReason, done, text } = await stream(`${server.url}/v1/completions`, body);
    expect({ finishReason, done }).toEqual({ finishReason: 'length', done: true });
    expect(text).not.toBe('');
    expect(await server.stop()).toBe(0);
  });
});

describe('doctor', () => {
  interface Report {
    readonly ok: boolean;
    readonly checks: readonly { readonly name: string; readonly status: string }[];
  }

  it('loads the libraries, and fails where a server would', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const address = taken.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const failed = await runToEnd(
      ['doctor', '--json', '--offline', '--port', `${port}`],
      cache.env,
    );
    await new Promise((resolve) => taken.close(resolve));
    expect(failed.code).toBe(1);
    const report = JSON.parse(failed.output) as Report;
    expect(report.ok).toBe(false);
    expect(report.checks.filter(({ status }) => status === 'broken')).toMatchObject([
      { name: 'port' },
    ]);
    const { code, output } = await runToEnd(
      ['doctor', 'summit', '--offline', '--port', '0'],
      cache.env,
    );
    expect(output).toMatch(/^ok +ONNX Runtime +\d+\.\d+/m);
    expect(output).toMatch(/^ok +model summit +/m);
    expect(code).toBe(0);
  });
});
