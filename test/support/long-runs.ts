const IS_LONG = process.env['CHAIRLIFT_LONG_TESTS'] === '1';

/**
 * How many prompts, tokens or runs a test takes: the first in everybody's `npm test`, the
 * second where `CHAIRLIFT_LONG_TESTS=1` is set, as continuous integration does. Both go the same ways.
 */
export function orLong<T>(usual: T, long: T): T {
  return IS_LONG ? long : usual;
}

/** Every n-th of the cases, which are alike, in everybody's `npm test`, the first among them; all in long runs. */
export function everyOrLong<T>(n: number, cases: readonly T[]): readonly T[] {
  return orLong(
    cases.filter((_, index) => index % n === 0),
    cases,
  );
}
