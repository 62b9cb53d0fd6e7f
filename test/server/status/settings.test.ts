import { expect, test } from 'vitest';
import { describeSetting, type Setting } from '../../../src/server/status/settings.ts';

const setting = (value: unknown, isSecret = false): Setting => ({
  flag: '--flag',
  environment: 'CHAIRLIFT_FLAG',
  meaning: 'a flag',
  source: 'flag',
  value,
  defaultText: null,
  isSecret,
});

test.each([
  [8000, 8000],
  ['auto', 'auto'],
  [
    { min: 0, max: 9 },
    { min: 0, max: 9 },
  ],
  [Infinity, 'unlimited'],
  [undefined, null],
  ['redis://user:word@cache:6379/1', 'redis://***@cache:6379/1'],
  [[new URL('http://name:word@10.0.0.7:8000')], ['http://***@10.0.0.7:8000/']],
])('%j is shown as %j', (value, shown) => {
  expect(describeSetting(setting(value))).toMatchObject({ value: shown, is_secret: false });
});

test('a secret is hidden in any form, and said to be set or not', () => {
  const keys = [{ client: '#1', digest: Buffer.from('digest') }];
  const described = describeSetting(setting(keys, true));
  expect(described).toMatchObject({ value: null, is_secret: true, is_set: true });
  expect(JSON.stringify(described)).not.toContain('digest');
  expect(describeSetting(setting(undefined, true))).toMatchObject({ is_set: false });
});
