import { expect, test } from 'vitest';
import { readFlags } from '../../src/settings/options.ts';

const ALLOWED = ['precision', 'maxNumSeqs', 'prefixCaching', 'temperature', 'corsOrigin'] as const;

test('flags of a single model are read as those of the command line', () => {
  const flags = {
    precision: 'int8',
    'max-num-seqs': 8,
    'no-prefix-caching': true,
    temperature: '0.5',
  };
  expect(readFlags(flags, ALLOWED)).toEqual({
    precision: 'int8',
    maxNumSeqs: 8,
    prefixCaching: false,
    temperature: 0.5,
  });
  expect(readFlags({ 'prefix-caching': true }, ALLOWED)).toEqual({ prefixCaching: true });
  expect(readFlags({ 'no-prefix-caching': false }, ALLOWED)).toEqual({ prefixCaching: true });
});

test.each([
  [{ port: 1 }, '--port cannot be set for a single model'],
  [{ 'no-precision': true }, '--no-precision cannot be set for a single model'],
  [{ precision: 'int3' }, '--precision int3: expected auto, fp32'],
  [{ 'max-num-seqs': true }, '--max-num-seqs true: expected a whole number'],
  [{ 'prefix-caching': 'maybe' }, '--prefix-caching maybe: expected true or false'],
])('%j is refused', (flags, message) => {
  expect(() => readFlags(flags, ALLOWED)).toThrow(message);
});
