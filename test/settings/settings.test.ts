import { writeFile } from 'node:fs/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Settings } from '../../src/settings/settings.ts';
import { describeSetting } from '../../src/server/status/settings.ts';
import { ConfigFile } from '../support/settings.ts';

let file: ConfigFile;
beforeEach(async () => {
  file = await ConfigFile.create();
});
afterEach(async () => file.remove());

/** Value and source of a flag. */
function of(settings: Settings<'serve'>, flag: string): [unknown, string] | undefined {
  const found = settings.list().find((setting) => setting.flag === flag);
  return found && [found.value, found.source];
}

test('each value says where it came from', async () => {
  const settings = await file.open(
    'serve',
    'max-num-seqs: 4\nprefix-caching: false',
    ['--port', '9001', '--no-ui'],
    { CHAIRLIFT_MAX_QUEUE: '7' },
  );
  expect(of(settings, '--port')).toEqual([9001, 'flag']);
  expect(of(settings, '--max-queue')).toEqual([7, 'environment']);
  expect(of(settings, '--max-num-seqs')).toEqual([4, 'config file']);
  // Positive names: what is off is false.
  expect(of(settings, '--prefix-caching')).toEqual([false, 'config file']);
  expect(of(settings, '--ui')).toEqual([false, 'flag']);
  expect(of(settings, '--log-prompts')).toEqual([false, 'default']);
  expect(of(settings, '--host')).toEqual(['127.0.0.1', 'default']);
  expect(of(settings, '--redis')).toEqual([undefined, 'default']);
  expect(settings.list().filter(({ flag }) => flag.startsWith('--no-'))).toEqual([]);
  expect(settings.list()).toContainEqual(
    expect.objectContaining({
      flag: '--max-queue',
      environment: 'CHAIRLIFT_MAX_QUEUE',
      defaultText: '256',
    }),
  );
  expect(settings.list()).toContainEqual(
    expect.objectContaining({ flag: '--rate-limit-tokens', defaultText: 'no limit' }),
  );
  expect(settings.list()).toContainEqual(
    expect.objectContaining({ flag: '--prefix-caching', defaultText: 'on' }),
  );
});

test('a file that is read anew changes value and source', async () => {
  const settings = await file.open('serve', '');
  expect(of(settings, '--rate-limit-requests')).toEqual([undefined, 'default']);
  await writeFile(file.path, 'rate-limit-requests: 5');
  await settings.reload(pino({ level: 'silent' }));
  expect(of(settings, '--rate-limit-requests')).toEqual([5, 'config file']);
  await writeFile(file.path, '');
  await settings.reload(pino({ level: 'silent' }));
  expect(of(settings, '--rate-limit-requests')).toEqual([undefined, 'default']);
});

test('no secret is shown, wherever it came from', async () => {
  const settings = await file.open(
    'serve',
    'api-key: user-key',
    ['--admin-api-key', 'admin-key', '--redis', 'redis://name:redis-word@localhost'],
    { CHAIRLIFT_RESUME_KEY: 'a-long-resume-key', HF_TOKEN: 'hub-token' },
  );
  const text = JSON.stringify(settings.list().map(describeSetting));
  expect(text).not.toMatch(/user-key|admin-key|a-long-resume-key|redis-word|hub-token|digest/);
  const secret = settings.list().filter(({ isSecret }) => isSecret);
  expect(secret.map(({ flag }) => flag).toSorted()).toEqual([
    '--admin-api-key',
    '--api-key',
    '--hf-token',
    '--resume-key',
  ]);
});

test('every flag whose name speaks of a key is hidden, or a file', async () => {
  const settings = await file.open('serve', '');
  const open = settings
    .list()
    .filter(({ flag, isSecret }) => /key|token$|secret|password/.test(flag) && !isSecret);
  expect(open.map(({ flag }) => flag).filter((flag) => !flag.endsWith('-file'))).toEqual([
    // A file in PEM.
    '--tls-key',
  ]);
});
