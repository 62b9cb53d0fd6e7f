import { execFileSync } from 'node:child_process';
import { describe, expect, it, test } from 'vitest';
import { keysOf } from '../../src/settings/flag-sets.ts';
import { negativeVariableOf, variablesOf } from '../../src/settings/flags/flag-spec.ts';
import { FLAGS, specOf } from '../../src/settings/options.ts';
import { isServiceLink, OTHER_VARIABLES } from '../../src/settings/environment.ts';
import { settingsFrom } from '../support/settings.ts';

const serve = async (env: NodeJS.ProcessEnv, ...words: string[]) =>
  (await settingsFrom('serve', words, env)).options;
const notes = async (env: NodeJS.ProcessEnv) => (await settingsFrom('serve', [], env)).notes;

describe('a switch in the environment', () => {
  it.each([
    ['true', true],
    ['1', true],
    ['Yes', true],
    ['ON', true],
    ['false', false],
    ['0', false],
    ['no', false],
    ['Off', false],
  ])('is what %j says', async (text, value) => {
    expect((await serve({ CHAIRLIFT_LOG_PROMPTS: text })).logPrompts).toBe(value);
    expect((await serve({ CHAIRLIFT_UI: text })).ui).toBe(value);
    expect((await serve({ CHAIRLIFT_NO_UI: text })).ui).toBe(!value);
  });

  it.each(['', '2', 'maybe', 'truee'])('is an error as %j', async (text) => {
    const wrong = `CHAIRLIFT_LOG_PROMPTS=${text}: expected true or false`;
    await expect(serve({ CHAIRLIFT_LOG_PROMPTS: text })).rejects.toThrow(wrong);
    await expect(serve({ CHAIRLIFT_NO_UI: text })).rejects.toThrow(/^CHAIRLIFT_NO_UI=/);
  });

  it('may not contradict itself', async () => {
    await expect(serve({ CHAIRLIFT_UI: '1', CHAIRLIFT_NO_UI: '1' })).rejects.toThrow(
      'CHAIRLIFT_UI and CHAIRLIFT_NO_UI contradict each other',
    );
  });
});

test('a value that is wrong is named by its variable', async () => {
  await expect(serve({ CHAIRLIFT_PORT: 'abc' })).rejects.toThrow(
    /^CHAIRLIFT_PORT=abc: expected a whole number from 0 to 65535$/,
  );
  await expect(serve({ CHAIRLIFT_RESUME_KEY: 'word' })).rejects.toThrow(
    /^CHAIRLIFT_RESUME_KEY: expected at least 16 characters$/,
  );
});

test('what is empty counts as not there, but for keys', async () => {
  expect((await serve({ CHAIRLIFT_PORT: '', CHAIRLIFT_MODEL: '' })).port).toBe(8000);
  // A secret that could not be found must not leave a server open.
  await expect(serve({ CHAIRLIFT_API_KEY: '' })).rejects.toThrow(/^CHAIRLIFT_API_KEY: expected/);
});

test.each([
  ['8080', 8080],
  ['0', 0],
  ['', 8000],
  ['http', 8000],
  ['99999', 8000],
  ['-1', 8000],
  ['tcp://10.0.0.1:80', 8000],
])('PORT=%s, which other programs may mean, is port %d', async (PORT, port) => {
  expect((await serve({ PORT })).port).toBe(port);
  expect((await serve({ PORT, CHAIRLIFT_PORT: '9' })).port).toBe(9);
});

test('variables of other tools are taken after our own', async () => {
  expect((await serve({ HF_TOKEN: 'theirs' })).hfToken).toBe('theirs');
  const both = { HF_TOKEN: 'theirs', CHAIRLIFT_HF_TOKEN: 'ours' };
  expect((await serve(both)).hfToken).toBe('ours');
  expect((await serve({ CHAIRLIFT_CACHE: '/c' })).cacheDir).toBe('/c');
  expect((await serve({ HF_HUB_OFFLINE: '1' })).offline).toBe(true);
});

describe('what Kubernetes sets for a Service', () => {
  const links = (service: string, port: string) => ({
    [`${service}_PORT`]: `tcp://10.96.0.12:${port}`,
    [`${service}_SERVICE_HOST`]: '10.96.0.12',
    [`${service}_SERVICE_PORT`]: port,
    [`${service}_SERVICE_PORT_HTTP`]: port,
    [`${service}_PORT_${port}_TCP`]: `tcp://10.96.0.12:${port}`,
    [`${service}_PORT_${port}_TCP_PROTO`]: 'tcp',
    [`${service}_PORT_${port}_TCP_PORT`]: port,
    [`${service}_PORT_${port}_TCP_ADDR`]: '10.96.0.12',
  });
  const env = {
    ...links('CHAIRLIFT', '80'),
    ...links('CHAIRLIFT_GRPC', '9000'),
    ...links('CHAIRLIFT_METRICS', '9400'),
    ...links('CHAIRLIFT_REDIS', '6379'),
  };

  it('is no flag, and nothing to warn of', async () => {
    const settings = await settingsFrom('serve', [], env);
    expect(settings.notes).toEqual([]);
    expect(settings.options).toMatchObject({
      port: 8000,
      grpcPort: undefined,
      metricsPort: undefined,
      redis: undefined,
    });
    expect((await serve({ ...env, CHAIRLIFT_METRICS_PORT: '9' })).metricsPort).toBe(9);
  });

  it('has the names of no flags but ports', () => {
    const names = keysOf(FLAGS).flatMap((name) => variablesOf(specOf(name)));
    expect(names.filter((name) => isServiceLink(name, '10.96.0.12'))).toEqual([]);
    const ports = names.filter((name) => isServiceLink(name, 'tcp://10.96.0.12:80'));
    expect(ports).toEqual(['CHAIRLIFT_PORT', 'CHAIRLIFT_GRPC_PORT', 'CHAIRLIFT_METRICS_PORT']);
  });
});

test('a name that is no flag is warned of, with those that are near', async () => {
  expect(await notes({ CHAIRLIFT_MAX_NUM_SEQ: '7' })).toEqual([
    expect.stringMatching(
      /^CHAIRLIFT_MAX_NUM_SEQ is no flag .*did you mean CHAIRLIFT_MAX_NUM_SEQS/,
    ),
  ]);
  expect(await notes({ CHAIRLIFT_ADMIN_APIKEY: 'secret-word' })).toEqual([
    expect.stringMatching(/did you mean CHAIRLIFT_ADMIN_API_KEY/),
  ]);
  expect((await notes({ CHAIRLIFT_ADMIN_APIKEY: 'secret-word' })).join('')).not.toContain(
    'secret-word',
  );
  expect(await notes({ CHAIRLIFT_QXZ: '' })).toEqual([
    'CHAIRLIFT_QXZ is no flag and has no effect',
  ]);
  // A flag of another command, and what is no flag but ours.
  expect(await notes({ CHAIRLIFT_NUM_PROMPTS: '5', CHAIRLIFT_INSTRUCTIONS: 'avx2' })).toEqual([]);
});

test('every variable that this repository speaks of is known', () => {
  const places = ['src', 'scripts', 'test', 'deploy', 'examples', 'docs', '.ci', 'Dockerfile'];
  const found = execFileSync(
    'git',
    ['grep', '-hoE', 'CHAIRLIFT_[A-Z][A-Z0-9_]+', '--', ...places],
    {
      encoding: 'utf8',
    },
  );
  const flags = keysOf(FLAGS).flatMap((name) => [
    ...variablesOf(specOf(name)),
    negativeVariableOf(specOf(name)),
  ]);
  const known = new Set([...flags, ...OTHER_VARIABLES, ...MADE_UP]);
  const names = new Set(found.trim().split('\n'));
  expect(
    [...names].filter(
      (name) => !known.has(name) && !isServiceLink(name, '') && !name.endsWith('_'),
    ),
  ).toEqual([]);
});

/** Names of C++, of texts, and of tests like this one. */
const MADE_UP = [
  'CHAIRLIFT_SOURCES',
  'CHAIRLIFT_CHECKS_TILES',
  'CHAIRLIFT_EMULATES_TILES',
  'CHAIRLIFT_CONTINUES_HERE',
  'CHAIRLIFT_FLAG',
  'CHAIRLIFT_MAX_NUM_SEQ',
  'CHAIRLIFT_ADMIN_APIKEY',
  'CHAIRLIFT_QXZ',
  // Prefixes of Kubernetes' own.
  'CHAIRLIFT_SERVICE',
  'CHAIRLIFT_GRPC',
  'CHAIRLIFT_METRICS',
];
