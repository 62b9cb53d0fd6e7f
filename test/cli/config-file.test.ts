import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LiveOptions } from '../../src/cli/live-options.ts';
import { addOptions, ALL_OPTIONS, type Options, readOptions } from '../../src/cli/options.ts';
import { digestOf } from '../../src/server/auth/api-keys.ts';

let folder = '';
let path = '';
let lines: { level: number; msg: string; flags?: string[] }[] = [];
const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chairlift-config-'));
  path = join(folder, 'chairlift.yaml');
  lines = [];
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** What a server has that is started with `yaml` in its file, and with `args`. */
async function open(yaml: string, args: readonly string[] = []): Promise<LiveOptions<Options>> {
  await writeFile(path, yaml);
  const command = addOptions(new Command('serve').exitOverride(), ALL_OPTIONS);
  command.parse(['--config', path, ...args], { from: 'user' });
  return LiveOptions.open(command, (parsed) => readOptions(parsed));
}

describe('a configuration file', () => {
  test('sets flags of every kind', async () => {
    const { options } = await open(
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
        'api-key: secret',
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
      apiKey: [{ client: '#1', digest: digestOf('secret') }],
      // As it is without a file.
      maxQueue: 256,
    });
    expect((await open('no-prefix-caching: true')).options.prefixCaching).toBe(false);
    expect((await open('prefix-caching: true')).options.prefixCaching).toBe(true);
    expect((await open('')).options.port).toBe(8000);
  });

  test('gives way to the command line and the environment', async () => {
    process.env['CHAIRLIFT_MAX_QUEUE'] = '7';
    try {
      const { options } = await open('port: 9000\nmax-queue: 8\nmax-num-seqs: 4', [
        '--port',
        '9001',
      ]);
      expect(options).toMatchObject({ port: 9001, maxQueue: 7, maxNumSeqs: 4 });
    } finally {
      delete process.env['CHAIRLIFT_MAX_QUEUE'];
    }
  });

  test.each([
    ['max-num-seq: 4', /no flag `max-num-seq`; there is `max-num-seqs`/],
    ['maxNumSeqs: 4', /no flag `maxNumSeqs`; there is .*`max-num-seqs`/],
    ['config: other.yaml', /no flag `config`/],
    ['port: many', /: port: /],
    ['share-prefix-cache: 1', /: share-prefix-cache: expected true or false/],
    ['port: {a: 1}', /: port: expected a value, or a list/],
    ['port:', /: port: expected a value, or a list/],
    ['- port', /expected lines of `flag: value`/],
    ['port: 1\nport: 2', /chairlift\.yaml: .*unique/],
  ])('that is wrong is refused: %j', async (yaml, message) => {
    await expect(open(yaml)).rejects.toThrow(message);
  });

  test('that is not there is refused', async () => {
    const command = addOptions(new Command('serve'), ALL_OPTIONS);
    command.parse(['--config', join(folder, 'none.yaml')], { from: 'user' });
    await expect(LiveOptions.open(command, (parsed) => readOptions(parsed))).rejects.toThrow(
      /--config: ENOENT/,
    );
  });
});

describe('a file read anew', () => {
  test('changes keys, limits and the log level, and says what it does not change', async () => {
    const live = await open('log-level: info\nport: 9000\nrate-limit-requests: 5\napi-key: one');
    await writeFile(
      path,
      'log-level: debug\nport: 9001\nmax-queue: 4\nrate-limit-tokens: 100\napi-key: two',
    );
    await live.reload(logger);
    expect(live.options).toMatchObject({
      logLevel: 'debug',
      rateLimitTokens: 100,
      apiKey: [{ digest: digestOf('two') }],
      port: 9000,
      maxQueue: 256,
    });
    expect(live.options.rateLimitRequests).toBeUndefined();
    expect(lines.map(({ level, flags }) => [level, flags?.toSorted()])).toEqual([
      [30, undefined],
      [40, ['max-queue', 'port']],
    ]);
    lines = [];
    await live.reload(logger);
    expect(lines).toHaveLength(1);
  });

  test('does not change what the command line says', async () => {
    const live = await open('rate-limit-requests: 5', ['--log-level', 'warn']);
    await writeFile(path, 'rate-limit-requests: 6\nlog-level: debug');
    await live.reload(logger);
    expect(live.options).toMatchObject({ logLevel: 'warn', rateLimitRequests: 6 });
  });

  test('that is wrong changes nothing, and is logged', async () => {
    const live = await open('log-level: warn');
    await writeFile(path, 'log-level: debug\nports: 1');
    await live.reload(logger);
    expect(live.options.logLevel).toBe('warn');
    expect(lines).toMatchObject([{ level: 50, msg: expect.stringContaining('no flag `ports`') }]);
  });
});
