import { writeFile } from 'node:fs/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { digestOf, unnamedKeys } from '../../src/server/auth/api-keys.ts';
import { ConfigFile, settingsFrom } from '../support/settings.ts';

let file: ConfigFile;
let lines: { level: number; msg: string; flags?: string[] }[] = [];
const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });

beforeEach(async () => {
  file = await ConfigFile.create();
  lines = [];
});
afterEach(async () => file.remove());

describe('a configuration file', () => {
  test('sets flags of every kind', async () => {
    const { options } = await file.open(
      'serve',
      [
        '# comments are fine',
        'port: 9000',
        'max-body: 4m',
        'log-level: warn',
        'drain-status: 404',
        'share-prefix-cache: true',
        'prefix-caching: false',
        'cors-origin: [https://a.example, https://b.example]',
        'priority-range: 0,3',
        'api-key: 00123456789012345678901',
        'model: [chat=/models/a, /models/b]',
      ].join('\n'),
    );
    expect(options).toMatchObject({
      port: 9000,
      maxBody: 4 * 2 ** 20,
      logLevel: 'warn',
      drainStatus: 404,
      sharePrefixCache: true,
      prefixCaching: false,
      corsOrigin: ['https://a.example', 'https://b.example'],
      priorityRange: { min: 0, max: 3 },
      // Not a number that was rounded.
      apiKey: unnamedKeys(['00123456789012345678901']),
      models: ['chat=/models/a', '/models/b'],
      // As it is without a file.
      maxQueue: 256,
    });
    expect((await file.open('serve', '')).options.port).toBe(8000);
  });

  test('gives way to the command line and the environment', async () => {
    const { options } = await file.open(
      'serve',
      'port: 9000\nmax-queue: 8\nmax-num-seqs: 4\nui: true',
      ['--port', '9001', '--no-ui'],
      { CHAIRLIFT_MAX_QUEUE: '7' },
    );
    expect(options).toMatchObject({ port: 9001, maxQueue: 7, maxNumSeqs: 4, ui: false });
  });

  test('is named by the environment too', async () => {
    await file.open('serve', 'port: 9000');
    const { options } = await settingsFrom('serve', [], { CHAIRLIFT_CONFIG: file.path });
    expect(options.port).toBe(9000);
  });

  test('may be for several commands', async () => {
    const yaml = 'port: 9000\nnum-prompts: 5\nmodel: /models/chat\nbench-temperature: 0.5';
    expect((await file.open('serve', yaml)).options).toMatchObject({ port: 9000 });
    const { options } = await file.open('bench', yaml);
    expect(options).toMatchObject({
      numPrompts: 5,
      benchTemperature: 0.5,
      // `model` is the server's; bench asks for client-model.
      askedModel: undefined,
    });
  });

  test("takes vLLM's names", async () => {
    const yaml = 'enable-prefix-caching: false\ndtype: float16\ntrust-remote-code: true';
    const { options } = await file.open('serve', yaml);
    expect(options).toMatchObject({ prefixCaching: false, precision: 'fp16' });
    await expect(file.open('serve', 'gpu-memory-utilization: 0.9')).rejects.toThrow(
      /chairlift\.yaml: gpu-memory-utilization: use --kv-cache-memory/,
    );
  });

  test.each([
    ['max-num-seq: 4', /no flag `max-num-seq`; there is `max-num-seqs`/],
    ['maxNumSeqs: 4', /no flag `maxNumSeqs`; there is .*`max-num-seqs`/],
    ['config: other.yaml', /no flag `config`/],
    ['port: many', /chairlift\.yaml: port: many: expected a whole number from 0 to 65535$/],
    ['port: [1, 2]', /: port: expected one value, and not 2/],
    ['share-prefix-cache: 2', /: share-prefix-cache: 2: expected true or false/],
    ['resume-key: short', /: resume-key: expected at least 16 characters$/],
    ['ui: true\nno-ui: true', /: no-ui: this flag is there twice/],
    ['port: {a: 1}', /: port: expected a value, or a list/],
    ['port:', /: port: expected a value, or a list/],
    [`? ${'k'.repeat(999)}\n: {a: 1}`, /: k{90,100}(?!k)\S*: expected a value, or a list$/],
    ['- port', /expected lines of `flag: value`/],
    ['port: 1\nport: 2', /chairlift\.yaml: .*unique/],
    ['port: *a', /chairlift\.yaml: Unresolved alias/],
  ])('that is wrong is refused: %j', async (yaml, message) => {
    await expect(file.open('serve', yaml)).rejects.toThrow(message);
  });

  test('that is not there is refused', async () => {
    await expect(settingsFrom('serve', ['--config', '/nowhere.yaml'])).rejects.toThrow(
      '--config /nowhere.yaml: no such file or folder',
    );
  });
});

describe('a file read anew', () => {
  test('changes keys, limits and the log level, and says what it does not change', async () => {
    const yaml = 'log-level: info\nport: 9000\nrate-limit-requests: 5\napi-key: one';
    const settings = await file.open('serve', yaml);
    await writeFile(
      file.path,
      'log-level: debug\nport: 9001\nmax-queue: 4\nrate-limit-tokens: 100\napi-key: two',
    );
    await settings.reload(logger);
    expect(settings.options).toMatchObject({
      logLevel: 'debug',
      rateLimitTokens: 100,
      apiKey: [{ digest: digestOf('two') }],
      port: 9000,
      maxQueue: 256,
    });
    expect(settings.options.rateLimitRequests).toBeUndefined();
    expect(lines.map(({ level, flags }) => [level, flags?.toSorted()])).toEqual([
      [30, undefined],
      [40, ['max-queue', 'port']],
    ]);
    lines = [];
    await settings.reload(logger);
    expect(lines).toHaveLength(1);
  });

  test('does not change what the command line or the environment says', async () => {
    const settings = await file.open('serve', 'rate-limit-requests: 5', ['--log-level', 'warn'], {
      CHAIRLIFT_RATE_LIMIT_TOKENS: '9',
    });
    await writeFile(file.path, 'rate-limit-requests: 6\nrate-limit-tokens: 8\nlog-level: debug');
    await settings.reload(logger);
    expect(settings.options).toMatchObject({
      logLevel: 'warn',
      rateLimitRequests: 6,
      rateLimitTokens: 9,
    });
  });

  test('that is wrong changes nothing, and is logged', async () => {
    const settings = await file.open('serve', 'log-level: warn');
    await writeFile(file.path, 'log-level: debug\nports: 1');
    expect(await settings.reload(logger)).toBe(false);
    expect(settings.options.logLevel).toBe('warn');
    expect(lines).toMatchObject([
      {
        level: 50,
        msg: expect.stringMatching(/the previous settings and API keys stay: .*no flag `ports`/),
      },
    ]);
  });
});
