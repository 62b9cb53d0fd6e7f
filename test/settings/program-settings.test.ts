import { afterEach, expect, test, vi } from 'vitest';
import { programSettings } from '../../src/settings/program-settings.ts';
import { UsageError } from '../../src/settings/usage-error.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

/** As a program in JavaScript gives them, which no compiler has looked at. */
const unchecked = (given: Record<string, unknown>) => programSettings(given);

test('values are what flags take, and numbers, switches and lists', async () => {
  const { options } = await programSettings({
    models: ['summit', 'a,b'],
    port: 0,
    maxModelLen: '2k',
    requestTimeout: 1.5,
    ui: false,
    corsOrigin: ['https://a.example', 'https://b.example/'],
    loraModules: ['tone=/a,b'],
    preferredBatchSizes: [8, '16'],
    keepAlive: '5m',
    host: undefined,
  });
  expect(options).toMatchObject({
    models: ['summit', 'a,b'],
    port: 0,
    maxModelLen: 2000,
    requestTimeout: 1.5,
    ui: false,
    corsOrigin: ['https://a.example', 'https://b.example'],
    loraModules: { tone: { path: '/a,b', base: null } },
    preferredBatchSizes: [8, 16],
    keepAlive: 300_000,
    host: '127.0.0.1',
  });
});

test('what is given wins over the environment', async () => {
  vi.stubEnv('CHAIRLIFT_PORT', '9001');
  vi.stubEnv('CHAIRLIFT_MAX_QUEUE', '7');
  const { options } = await programSettings({ port: 9002 });
  expect([options.port, options.maxQueue]).toEqual([9002, 7]);
});

test('keys stay in the environment, for the next server of the same program', async () => {
  vi.stubEnv('CHAIRLIFT_API_KEY', 'secret');
  await programSettings({});
  const { options } = await programSettings({});
  expect(options.apiKey).toHaveLength(1);
});

test.each([
  [{ maxQueu: 1 }, 'there is no setting maxQueu; is it maxQueue?'],
  [{ inputFile: 'x' }, 'there is no setting inputFile'],
  [{ port: 70_000 }, 'port 70000: expected a whole number from 0 to 65535'],
  [{ port: null }, 'port: expected a text or a number'],
  [{ ui: 'no' }, 'ui: expected true or false'],
  [{ models: 'summit' }, 'models: expected a list'],
  [{ models: [{}] }, 'models: expected a text or a number'],
  [{ apiKey: ['secret', ''] }, 'apiKey: expected a value that is not empty'],
])('%j is refused', async (given, message) => {
  const refused = unchecked(given);
  await expect(refused).rejects.toThrow(UsageError);
  await expect(refused).rejects.toThrow(message);
  await expect(refused).rejects.not.toThrow('secret');
});
