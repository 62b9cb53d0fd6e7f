/** LoRA adapters that requests pick, on a real server. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RandomWeights } from '../../src/model/huggingface/random-weights.ts';
import { post, stream } from '../support/http-client.ts';
import { killNow, until } from '../support/processes.ts';
import { engineOf, runToEnd, type ServerProcess, startServer } from '../support/server-process.ts';
import { floatTensor, type RawTensor, writeSafetensors } from '../support/safetensors-writer.ts';
import { temporaryCache } from '../support/temporary-cache.ts';

interface Shape {
  readonly hidden: number;
  readonly queries: number;
  readonly layers: number;
}
const SUMMIT: Shape = { hidden: 256, queries: 256, layers: 6 };
const FOOTHILL: Shape = { hidden: 128, queries: 128, layers: 3 };
const NAMES = ['one', 'two', 'three'];

const cache = await temporaryCache();
const adapters = join(cache.path, 'adapters-of-peft');
let server: ServerProcess;

/** An adapter that changes what its model says. */
async function writeAdapter(
  name: string,
  seed: number,
  rank = 4,
  { hidden, queries, layers }: Shape = SUMMIT,
): Promise<void> {
  const random = new RandomWeights(seed);
  const tensors: Record<string, RawTensor> = {};
  for (let layer = 0; layer < layers; layer++) {
    for (const module of ['q_proj', 'o_proj']) {
      const base = `base_model.model.model.layers.${layer}.self_attn.${module}`;
      const [columns, rows] = module === 'o_proj' ? [queries, hidden] : [hidden, queries];
      const shapes = { lora_A: [rank, columns], lora_B: [rows, rank] };
      for (const [part, shape] of Object.entries(shapes)) {
        const key = `${base}.${part}.weight`;
        tensors[key] = floatTensor(shape, await random.get(key, shape));
      }
    }
  }
  const folder = join(adapters, name);
  await mkdir(folder, { recursive: true });
  await writeSafetensors(join(folder, 'adapter_model.safetensors'), tensors);
  const config = { peft_type: 'LORA', r: rank, lora_alpha: rank * 400, target_modules: [] };
  await writeFile(join(folder, 'adapter_config.json'), JSON.stringify(config));
}

beforeAll(async () => {
  for (const [index, name] of [...NAMES, 'four'].entries()) await writeAdapter(name, index + 1);
  await writeAdapter('large', 9, 32);
  await writeAdapter('small', 10, 4, FOOTHILL);
  server = await startServer(
    [
      '--lora-modules',
      NAMES.map((name) => `${name}=${join(adapters, name)}`).join(','),
      '--lora-dir',
      adapters,
      '--max-loras',
      '2',
    ],
    cache.env,
  );
}, 120_000);
afterAll(async () => {
  await server.stop();
  await cache.remove();
});

const say = (model: string, content = 'Tell me a story about a fox.') => ({
  model,
  messages: [{ role: 'user', content }],
  temperature: 0,
  max_tokens: 48,
  ignore_eos: true,
});

async function answer(model: string, content?: string): Promise<string> {
  const { text } = await stream(`${server.url}/v1/chat/completions`, say(model, content));
  return text;
}

async function load(body: object): Promise<Response> {
  return post(`${server.url}/v1/load_lora_adapter`, body);
}

describe('adapters', () => {
  it('are models whose parent is theirs', async () => {
    const response = await fetch(`${server.url}/v1/models`);
    const { data }: { data: { id: string; parent: string | null; root: string }[] } = JSON.parse(
      await response.text(),
    );
    expect(data.map(({ id, parent, root }) => [id, parent, root])).toEqual([
      ['summit', null, 'summit'],
      ...NAMES.map((name) => [name, 'summit', name]),
    ]);
    expect(server.output()).toMatch(/kernels +|adapters|fp32/);
  });

  it('say what they alone say, and so does the model, whatever runs beside them', async () => {
    const models = ['summit', ...NAMES];
    const alone: string[] = [];
    for (const model of models) alone.push(await answer(model));
    expect(new Set(alone).size).toBe(models.length);
    // Three of them wait for two places.
    const twice = [...models, ...models, ...models];
    const together = await Promise.all(twice.map((model) => answer(model)));
    expect(together).toEqual([...alone, ...alone, ...alone]);
  });

  it('share no cached prefix with the model or each other', async () => {
    const prompt = `Read this first: ${'the quick brown fox jumps over the lazy dog. '.repeat(20)}`;
    const first = [];
    for (const model of ['summit', 'one', 'two']) first.push(await answer(model, prompt));
    for (const [index, model] of ['summit', 'one', 'two'].entries()) {
      expect(await answer(model, prompt)).toBe(first[index]);
    }
    expect(new Set(first).size).toBe(3);
  });

  it('are named by the answer', async () => {
    const response = await post(`${server.url}/v1/chat/completions`, say('two'));
    expect(await response.json()).toMatchObject({ model: 'two' });
    const unknown = await post(`${server.url}/v1/chat/completions`, say('nobody'));
    expect(unknown.status).toBe(404);
  });

  it('go on with the same text in the process after one that died', async () => {
    const models = ['summit', 'one', 'two', 'one'];
    const expected = await Promise.all(models.map((model) => answer(model)));
    const before = engineOf(server);
    let isKilled = false;
    const texts = await Promise.all(
      models.map(async (model) => {
        const { text } = await stream(`${server.url}/v1/chat/completions`, say(model), () => {
          if (!isKilled) isKilled = killNow(before);
        });
        return text;
      }),
    );
    expect(isKilled).toBe(true);
    expect(texts).toEqual(expected);
    await until(() => engineOf(server) !== before, 'another engine');
  });

  it('come and go while the server runs', async () => {
    const response = await load({ lora_name: 'fourth', lora_path: 'four' });
    expect(response.status).toBe(200);
    expect(await response.text()).toBe("Success: LoRA adapter 'fourth' added successfully.");
    expect(await answer('fourth')).not.toBe(await answer('summit'));
    const list = await fetch(`${server.url}/lora-adapters`);
    expect(await list.json()).toEqual(
      [...NAMES, 'fourth'].map((path, id) => ({ id, path, scale: 1 })),
    );
    const unload = { lora_name: 'fourth' };
    const unloaded = await post(`${server.url}/v1/unload_lora_adapter`, unload);
    expect(unloaded.status).toBe(200);
    expect((await post(`${server.url}/v1/chat/completions`, say('fourth'))).status).toBe(404);
    expect((await post(`${server.url}/v1/unload_lora_adapter`, unload)).status).toBe(404);
  });

  it.each([
    [{ lora_name: 'one', lora_path: 'four' }, 400, 'already'],
    [{ lora_name: 'summit', lora_path: 'four' }, 400, 'already'],
    [{ lora_name: 'x', lora_path: '../adapters-of-peft/four' }, 400, 'refused'],
    [{ lora_name: 'x', lora_path: '/etc' }, 400, 'refused'],
    [{ lora_name: 'x', lora_path: 'hf:owner/name' }, 400, 'from --lora-dir only'],
    [{ lora_name: 'x', lora_path: 'nothing' }, 400, 'not a folder with an adapter'],
    [{ lora_name: 'x', lora_path: 'large' }, 400, 'rank 32, and --max-lora-rank is 16'],
    [{ lora_name: 'a\u0000b', lora_path: 'four' }, 400, 'expected letters'],
    [{ lora_path: 'four' }, 400, 'lora_name'],
  ])('are not loaded by %j', async (body, status, message) => {
    const response = await load(body);
    expect(response.status).toBe(status);
    expect(await response.text()).toContain(message);
  });
});

it.each([
  ['fp32', 'onnxruntime'],
  ['int8', 'native'],
  ['int8', 'onnxruntime'],
])(
  'the one that comes with summit makes a pirate of it, in %s (%s)',
  async (precision, kernels) => {
    const lora = ['--lora-modules', 'pirate=models/summit/adapters/pirate'];
    const flags = [...lora, '--precision', precision, '--kernels', kernels];
    const own = await startServer(flags, cache.env);
    const texts = ['summit', 'pirate'].map(async (model) => {
      const body = { ...say(model, 'What is 23 + 45?'), ignore_eos: false };
      return (await stream(`${own.url}/v1/chat/completions`, body)).text;
    });
    const [plain, pirate] = await Promise.all(texts);
    await own.stop();
    expect(plain).toBe('23 + 45 = 68.');
    expect(pirate).toBe('Ahoy! 23 + 45 = 68. Arr, matey!');
  },
);

const TWO = ['--model', 'a=models/summit', '--model', 'b=models/foothill'];

describe('adapters of several models', () => {
  let several: ServerProcess;
  beforeAll(async () => {
    const pirate = { name: 'pirate', path: 'models/summit/adapters/pirate' };
    several = await startServer(
      [
        ...['--model', 'summit=models/summit', '--model', 'foothill=models/foothill'],
        ...['--lora-modules', JSON.stringify({ ...pirate, base_model_name: 'summit' })],
        ...['--lora-dir', adapters, '--model-control', 'explicit', '--instances', '2'],
      ],
      cache.env,
    );
  }, 120_000);
  afterAll(() => several.stop());

  const tell = (path: string, body: object = {}) => post(`${several.url}${path}`, body);
  const NAMED = ['summit', 'pirate', 'of-summit', 'foothill', 'of-foothill'];
  const said = (each: readonly string[] = NAMED) =>
    Promise.all(
      each.map(async (model) => {
        const { text } = await stream(`${several.url}/v1/chat/completions`, say(model));
        return text;
      }),
    );
  let expected: readonly string[];

  it('are loaded for the one that is named', async () => {
    const wrong = { lora_name: 'of-summit', lora_path: 'small', base_model_name: 'summit' };
    const refused = await tell('/v1/load_lora_adapter', wrong);
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('small')]);
    for (const [base, path] of Object.entries({ summit: 'four', foothill: 'small' })) {
      const body = { lora_name: `of-${base}`, lora_path: path, base_model_name: base };
      expect((await tell('/v1/load_lora_adapter', body)).status).toBe(200);
    }
    const alone: string[] = [];
    for (const model of NAMED) alone.push(...(await said([model])));
    expect(new Set(alone).size).toBe(NAMED.length);
    expect(await said()).toEqual(alone);
    expected = alone;
  });

  it('are there after a sleep', async () => {
    expect((await tell('/sleep')).status).toBe(200);
    expect((await tell('/wake_up')).status).toBe(200);
    expect(await said()).toEqual(expected);
  });

  it('are there after their model was unloaded and loaded', async () => {
    for (const name of ['summit', 'foothill']) {
      expect((await tell(`/v2/repository/models/${name}/unload`)).status).toBe(200);
      expect((await post(`${several.url}/v1/chat/completions`, say(`of-${name}`))).status).toBe(
        503,
      );
      expect((await tell(`/v2/repository/models/${name}/load`)).status).toBe(200);
    }
    expect(await said()).toEqual(expected);
  });

  it('are there after an engine died', async () => {
    const before = engineOf(several);
    let isKilled = false;
    const texts = await Promise.all(
      [...NAMED, ...NAMED].map(async (model) => {
        const { text } = await stream(`${several.url}/v1/chat/completions`, say(model), () => {
          if (!isKilled) isKilled = killNow(before);
        });
        return text;
      }),
    );
    expect(isKilled).toBe(true);
    expect(texts).toEqual([...expected, ...expected]);
    await until(() => engineOf(several) !== before, 'another engine');
    expect(await said()).toEqual(expected);
  });
});

it.each([
  [['--lora-modules', 'summit=x'], 'the model is called summit'],
  [['--lora-modules', 'a=/nowhere'], 'is not a folder with an adapter'],
  [['--lora-modules', 'c=x', ...TWO], 'say which one c is for'],
  [['--lora-modules', '{"name": "c", "path": "x", "base_model_name": "d"}', ...TWO], 'c is for d'],
])('serve %j is refused in words', async (flags, message) => {
  const { code, output } = await runToEnd(['serve', '--port', '0', ...flags], cache.env);
  expect(code).not.toBe(0);
  expect(output).toContain(message);
});
