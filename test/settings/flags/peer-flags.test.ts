import { readFile } from 'node:fs/promises';
import { describe, expect, it, test } from 'vitest';
import { NEEDLESS } from '../../../src/settings/flags/peer-needless.ts';
import { OTHERS } from '../../../src/settings/flags/peer-others.ts';
import { SAME } from '../../../src/settings/flags/peer-same.ts';
import { nameOf } from '../../../src/settings/flags/flag-spec.ts';
import { keysOf, SERVE_FLAGS } from '../../../src/settings/flag-sets.ts';
import { FLAGS, specOf } from '../../../src/settings/options.ts';
import { ConfigFile, settingsFrom } from '../../support/settings.ts';

const serve = (line: string) => settingsFrom('serve', line.split(' '));

test.each([
  [
    'Qwen/Qwen3-0.6B --host 0.0.0.0 --dtype auto --max-model-len 32768 --enable-auto-tool-choice ' +
      '--tool-call-parser hermes --trust-remote-code --enable-prefix-caching -tp 1 ' +
      '--enable-chunked-prefill --swap-space 4 --ssl-certfile c.pem --ssl-keyfile k.pem',
    {
      models: ['Qwen/Qwen3-0.6B'],
      host: '0.0.0.0',
      precision: 'auto',
      maxModelLen: 32768,
      toolCallParser: 'hermes',
      prefixCaching: true,
      tlsCert: 'c.pem',
      tlsKey: 'k.pem',
    },
    /--enable-auto-tool-choice \(always on\), --trust-remote-code .*, --swap-space$/,
  ],
  [
    'm --kv-cache-memory-bytes 2G --no-enable-prefix-caching --allowed-origins ["https://a.example"] ' +
      '--download-dir /models --served-model-name gpt-4o gpt-4o-mini',
    {
      kvCacheMemory: 2 * 2 ** 30,
      prefixCaching: false,
      corsOrigin: ['https://a.example'],
      cacheDir: '/models',
      servedModelName: ['gpt-4o', 'gpt-4o-mini'],
    },
    /^$/,
  ],
  [
    '-m model.gguf -c 4096 -np 4 -ngl 99 -fa on -t 8 --jinja --no-webui -a chat --temp 0.5 --repeat-penalty 1.1',
    {
      models: ['model.gguf'],
      maxModelLen: 4096,
      maxNumSeqs: 4,
      threads: 8,
      ui: false,
      servedModelName: ['chat'],
      temperature: 0.5,
      repetitionPenalty: 1.1,
    },
    /-ngl \(--device picks the device\), -fa, --jinja/,
  ],
  [
    '-hf ggml-org/Qwen3-0.6B-GGUF:Q8_0 -md draft.gguf --draft-max 4 -ctk q8_0 -ctv q8_0 --no-warmup --metrics -cb',
    {
      models: ['hf:ggml-org/Qwen3-0.6B-GGUF:Q8_0'],
      draftModel: 'draft.gguf',
      speculativeTokens: 4,
      kvCacheDtype: 'int8',
      warmup: 'off',
    },
    /--metrics \(\/metrics is there\), -cb/,
  ],
  [
    'm --reasoning-parser qwen3 --max-model-len 32k --max-num-batched-tokens 2K --scheduling-policy priority',
    { reasoningParser: 'qwen3', maxModelLen: 32_000, maxNumBatchedTokens: 2048 },
    /--scheduling-policy \(requests have `priority`\)$/,
  ],
  [
    'm --reasoning-parser deepseek_r1 -c 25.6k',
    { reasoningParser: 'deepseek_r1', maxModelLen: 25_600 },
    /^$/,
  ],
  [
    'm --reasoning-parser deepseek_v3 -c 1M',
    { reasoningParser: 'deepseek_v3', maxModelLen: 2 ** 20 },
    /^$/,
  ],
  [
    '-m model.gguf -mm mmproj-model.gguf',
    { models: ['model.gguf'], mmproj: 'mmproj-model.gguf' },
    /^$/,
  ],
  ['-m model.gguf --no-mmproj', { mmproj: 'off' }, /^$/],
  ['-m model.gguf --cache-ram 2048', { prefixCacheMemory: 2 ** 31 }, /^$/],
  ['-m model.gguf -cram 0', { prefixCacheMemory: 0 }, /^$/],
  ['m --kv-offloading-size 1.5', { prefixCacheMemory: 1.5 * 2 ** 30 }, /^$/],
  // An optional value that is not there.
  ['-fa -m model.gguf --flash-attn', { models: ['model.gguf'] }, /-fa, --flash-attn$/],
])('a pasted command means the same: %s', async (line, options, note) => {
  const settings = await serve(line);
  expect(settings.options).toMatchObject(options);
  // One note for all of them.
  expect(settings.notes.length).toBeLessThan(2);
  expect(settings.notes.join('')).toMatch(note);
});

describe('a flag that means something else', () => {
  it.each([
    ['--gpu-memory-utilization 0.9', /use --kv-cache-memory/],
    ['-tp 2', /^-tp: a model runs on one device; --instances/],
    ['--tensor-parallel-size=2', /--instances/],
    ['--dtype bfloat16', /^--dtype bfloat16: there is no bfloat16 here: use float16, .*float32/],
    ['--dtype fp4', /^--dtype fp4: expected auto, half, float16, float or float32$/],
    ['--dtype constructor', /^--dtype constructor: expected auto/],
    ['--cache-type-k q3', /^--cache-type-k q3: expected f32, f16, q8_0, q4_0 or q4_1$/],
    ['-ctv q5_0', /^-ctv q5_0: the KV cache has 8 or 4 bits: use q8_0, q4_0 or q4_1$/],
    ['--kv-cache-dtype fp8', /^--kv-cache-dtype fp8: there is no fp8 here: use int8/],
    [
      '--reasoning-parser gpt',
      /^--reasoning-parser gpt: expected auto, none, openai_gptoss, .* or step3$/,
    ],
    [
      '--tool-call-parser xml',
      /^--tool-call-parser xml: expected auto, none, openai, .* or llama4_json$/,
    ],
    ['--max-model-len 2.5', /^--max-model-len 2.5: expected a whole number of at least 2/],
    ['--max-model-len 1.5K', /^--max-model-len 1.5K: expected a whole number/],
    ['--reasoning-budget -2', /^--reasoning-budget -2: expected a whole number of at least -1/],
    ['--presence-penalty 1', /requests have presence_penalty/],
    ['--num-gpu-blocks-override 100', /use --kv-cache-memory/],
    ['--no-slots', /--admin-api-key/],
    ['--hf-file x.gguf', /hf:owner\/name:FILE/],
    ['--speculative-config {}', /--draft-model/],
    ['-n 100', /max_tokens/],
    ['-np', /-np needs a value/],
  ])('is answered with ours: %s', async (line, answer) => {
    await expect(serve(line)).rejects.toThrow(answer);
  });

  it('is answered with file and key, where a file has it', async () => {
    const file = await ConfigFile.create();
    const open = async (yaml: string) => file.open('serve', yaml);
    await expect(open('cache-type-v: q5_0')).rejects.toThrow(
      `${file.path}: cache-type-v: q5_0: the KV cache has 8 or 4 bits`,
    );
    await expect(open('gpu-memory-utilization: 0.9')).rejects.toThrow(
      `${file.path}: gpu-memory-utilization: use --kv-cache-memory`,
    );
    expect((await open('dtype: half')).options.precision).toBe('fp16');
    await file.remove();
  });

  it('gets no hint of what is hardly alike', async () => {
    await expect(serve('--scheduler-polity x')).rejects.toThrow(/lists them/);
    await expect(serve('--no-slot')).rejects.toThrow(/lists them/);
    await expect(serve('--no-prefix-cache')).rejects.toThrow(/did you mean --no-prefix-caching/);
    await expect(serve('--max-seqs 1')).rejects.toThrow(/did you mean --max-num-seqs/);
  });

  it('is ours where we have one of that name', async () => {
    expect((await serve('--warmup full')).options.warmup).toBe('full');
    const { options } = await settingsFrom('run', ['summit', '-n', '5', '-s', '7']);
    expect(options).toMatchObject({ maxTokens: 5, seed: 7 });
  });

  it('is unknown to commands that load no model', async () => {
    await expect(settingsFrom('ps', ['--jinja'])).rejects.toThrow(/no flag --jinja/);
  });
});

test('a value is never taken for a flag', async () => {
  const { options } = await serve('--chat-template -np --served-model-name --jinja=1');
  expect(options).toMatchObject({ chatTemplate: '-np' });
  const { operands } = await settingsFrom('run', ['summit', '--', '-ngl']);
  expect(operands).toEqual(['summit', '-ngl']);
});

describe('the tables', () => {
  const ours = new Set(keysOf(FLAGS).map((name) => `--${nameOf(specOf(name))}`));

  it('name flags that there are', () => {
    const targets = [...SAME.values()].map(({ to }) => `--${to.replace(/^no-/, '')}`);
    expect(targets.filter((flag) => !ours.has(flag))).toEqual([]);
    const answers = [...OTHERS.values()].map(({ answer }) => answer).join(' ');
    const flags = answers.match(/--[a-z][a-z-]+/g) ?? [];
    expect(flags.filter((flag) => !ours.has(flag.replace('--no-', '--')))).toEqual([]);
  });

  it('have each flag once', () => {
    const served = new Set<string>(SERVE_FLAGS.map((name) => nameOf(specOf(name))));
    // A flag that means something for `run` alone may be needless for `serve`.
    const same = [...SAME].filter(([, { to }]) => served.has(to)).map(([flag]) => flag);
    const all = [...same, ...NEEDLESS.keys(), ...OTHERS.keys()];
    expect(all.filter((flag, at) => all.indexOf(flag) !== at)).toEqual([]);
  });

  it('are all in docs/migrating.md', async () => {
    const text = await readFile('docs/migrating.md', 'utf8');
    const all = [...SAME.keys(), ...NEEDLESS.keys(), ...OTHERS.keys()];
    expect(all.filter((flag) => !text.includes(`\`${flag}\``))).toEqual([]);
  });
});
