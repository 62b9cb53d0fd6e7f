import { expect, test } from 'vitest';
import { RecentErrors, Troubles } from '../../../src/server/status/troubles.ts';

const trouble = (what: string) => ({ what, status: 500, code: null, model: null, client: null });

test('the same trouble is one entry, with its first and last time', () => {
  const errors = new RecentErrors(10);
  errors.note(trouble('a'), 100);
  errors.note(trouble('b'), 200);
  errors.note(trouble('a'), 300);
  expect(errors.list()).toEqual([
    { ...trouble('a'), count: 2, first_at: 100, last_at: 300 },
    { ...trouble('b'), count: 1, first_at: 200, last_at: 200 },
  ]);
});

test('of too many kinds the oldest goes, however many there are', () => {
  const errors = new RecentErrors(3);
  for (let index = 0; index < 1000; index++) {
    errors.note(trouble('kept'), index);
    errors.note(trouble(`${index}`), index);
  }
  expect(errors.list().map(({ what }) => what)).toEqual(['999', 'kept', '998']);
  expect(errors.list()[1]).toMatchObject({ count: 1000 });
});

test('a flood of refusals leaves failures where they are', () => {
  const troubles = new Troubles(2);
  troubles.failed(trouble('engine crash'));
  for (let index = 0; index < 100; index++)
    troubles.refused({ ...trouble(`${index}`), status: 401 });
  expect(troubles.failures.list()).toHaveLength(1);
  expect(troubles.refusals.list()).toHaveLength(2);
  expect(troubles.numFailures).toBe(1);
});
