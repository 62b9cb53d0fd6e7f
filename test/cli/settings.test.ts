import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LiveOptions } from '../../src/cli/live-options.ts';
import { addOptions, ALL_OPTIONS, type Options, readOptions } from '../../src/cli/options.ts';
import { describeSetting } from '../../src/server/status/settings.ts';

let folder = '';
let path = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chairlift-settings-'));
  path = join(folder, 'chairlift.yaml');
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function open(yaml: string, args: readonly string[]): Promise<LiveOptions<Options>> {
  await writeFile(path, yaml);
  const command = addOptions(new Command('serve').exitOverride(), ALL_OPTIONS);
  command.parse(['--config', path, ...args], { from: 'user' });
  return LiveOptions.open(command, (parsed) => readOptions(parsed));
}

/** Value and source of a flag. */
function of(live: LiveOptions<Options>, flag: string): [unknown, string] | undefined {
  const found = live.settings.find((setting) => setting.flag === flag);
  return found && [found.value, found.source];
}

test('each value says where it came from', async () => {
  process.env['CHAIRLIFT_MAX_QUEUE'] = '7';
  try {
    const live = await open('max-num-seqs: 4\nprefix-caching: false', ['--port', '9001']);
    expect(of(live, '--port')).toEqual([9001, 'flag']);
    expect(of(live, '--max-queue')).toEqual([7, 'environment']);
    expect(of(live, '--max-num-seqs')).toEqual([4, 'config file']);
    expect(of(live, '--no-prefix-caching')).toEqual([false, 'config file']);
    expect(of(live, '--host')).toEqual(['127.0.0.1', 'default']);
    expect(of(live, '--redis')).toEqual([undefined, 'default']);
    expect(live.settings).toContainEqual(
      expect.objectContaining({
        flag: '--max-queue',
        environment: 'CHAIRLIFT_MAX_QUEUE',
        defaultText: '256',
      }),
    );
    expect(live.settings).toContainEqual(
      expect.objectContaining({ flag: '--rate-limit-tokens', defaultText: 'no limit' }),
    );
  } finally {
    delete process.env['CHAIRLIFT_MAX_QUEUE'];
  }
});

test('a file that is read anew changes value and source', async () => {
  const live = await open('', []);
  expect(of(live, '--rate-limit-requests')).toEqual([undefined, 'default']);
  await writeFile(path, 'rate-limit-requests: 5');
  await live.reload(pino({ level: 'silent' }));
  expect(of(live, '--rate-limit-requests')).toEqual([5, 'config file']);
  await writeFile(path, '');
  await live.reload(pino({ level: 'silent' }));
  expect(of(live, '--rate-limit-requests')).toEqual([undefined, 'default']);
});

test('no key is shown, wherever it came from', async () => {
  const live = await open('api-key: user-key', [
    '--admin-api-key',
    'admin-key',
    '--resume-key',
    'a-long-resume-key',
    '--redis',
    'redis://name:redis-word@localhost',
  ]);
  const text = JSON.stringify(live.settings.map(describeSetting));
  expect(text).not.toMatch(/user-key|admin-key|a-long-resume-key|redis-word|digest/);
  const secret = live.settings.filter(({ isSecret }) => isSecret).map(({ flag }) => flag);
  expect(secret.toSorted()).toEqual(['--admin-api-key', '--api-key', '--resume-key']);
});

test('every flag whose name speaks of a key is hidden, or a file', async () => {
  const live = await open('', []);
  const open_ = live.settings.filter(
    ({ flag, isSecret }) => /key|token$|secret|password/.test(flag) && !isSecret,
  );
  expect(open_.map(({ flag }) => flag)).toEqual(['--api-key-file', '--tls-key']);
});
