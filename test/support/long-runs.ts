const IS_LONG = process.env['CHAIRLIFT_LONG_TESTS'] === '1';

/**
 * How many prompts, tokens or runs a test takes: the first in everybody's `npm test`, the
 * second where `CHAIRLIFT_LONG_TESTS=1` is set, as continuous integration does. Both go the same ways.
 */
export function orLong<T>(usual: T, long: T): T {
  return IS_LONG ? long : usual;
}
