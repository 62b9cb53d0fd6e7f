/** Inputs that fuzzing found to reach far, or to do harm: none does any. `guided/main.ts` makes more. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inputsOf } from './guided/corpus.ts';
import { EVENT_TARGETS } from './guided/event-targets.ts';
import { READER_TARGETS } from './guided/reader-targets.ts';
import { SERVER_TARGETS } from './guided/server-targets.ts';
import { VISION_TARGETS } from './guided/vision-targets.ts';
import { refusable, requireSendable } from './guided/target.ts';
import { TARGET_NAMES, targetOf } from './guided/targets.ts';

const TARGETS = [...SERVER_TARGETS, ...READER_TARGETS, ...VISION_TARGETS, ...EVENT_TARGETS];

describe.each(TARGETS)('$name', (target) => {
  beforeAll(async () => target.start?.());
  afterAll(async () => target.stop?.());

  test('takes or refuses what the corpus has', async () => {
    const inputs = inputsOf(target);
    if (target.isParallel === true) {
      await Promise.all(inputs.map(async (input) => target.run(input)));
    } else {
      for (const input of inputs) await target.run(input);
    }
    expect(inputs.length).toBeGreaterThan(0);
  });
});

test('every target has a name that it is found by', async () => {
  const names = TARGETS.map(({ name }) => name);
  expect(names).toEqual(TARGET_NAMES);
  await expect(targetOf('nothing')).rejects.toThrow('there is no target nothing');
});

test('what is no refusal, or a text that cannot be sent, is a finding', () => {
  const fail = (error: unknown) => () => {
    throw error;
  };
  expect(refusable(() => 1, SyntaxError)).toBe(1);
  expect(refusable(fail(new SyntaxError('bad')), SyntaxError)).toBeUndefined();
  expect(() => refusable(fail(new TypeError('bad')), SyntaxError)).toThrow(TypeError);
  expect(() => refusable(fail(new SyntaxError('\ud83d')), SyntaxError)).toThrow("can't be encoded");
  expect(() => {
    requireSendable('x'.repeat(10_000));
  }).toThrow('a message of 10000 characters');
});
