import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { integerEbnf, numberEbnf } from '../../src/grammar/number-ebnf.ts';

/** These grammars are made of literals, digit classes, groups and repetitions: a RegExp does it. */
function matcher(ebnf: string): RegExp {
  const source = ebnf
    .replaceAll('"."', '\\.')
    .replaceAll(/"([^"]*)"/g, '$1')
    .replaceAll(/\s+/g, '');
  return new RegExp(`^(?:${source})$`);
}

const bound = fc.integer({ min: -20_000, max: 20_000 });

describe('integers within bounds', () => {
  it('are those and no others', () => {
    fc.assert(
      fc.property(bound, bound, fc.array(bound, { maxLength: 30 }), (a, b, probes) => {
        const [minimum, maximum] = [Math.min(a, b), Math.max(a, b)];
        const expression = matcher(integerEbnf({ minimum, maximum }));
        for (const value of [...probes, minimum, maximum, minimum - 1, maximum + 1, 0]) {
          const isWithin = value >= minimum && value <= maximum;
          expect({ value, matches: expression.test(String(value)) }).toEqual({
            value,
            matches: isWithin,
          });
        }
        expect('007').not.toMatch(expression);
      }),
    );
  });

  it('may have one bound, or exclude it', () => {
    const positive = matcher(integerEbnf({ exclusiveMinimum: 0 }));
    expect(['1', '99', '1000000'].every((text) => positive.test(text))).toBe(true);
    expect(['0', '-1', '01'].some((text) => positive.test(text))).toBe(false);
    expect(() => integerEbnf({ minimum: 3, exclusiveMaximum: 3 })).toThrow('no number');
  });
});

describe('numbers within bounds', () => {
  const decimal = fc
    .tuple(fc.integer({ min: -5000, max: 5000 }), fc.integer({ min: 0, max: 2 }))
    .map(([digits, decimals]) => digits / 10 ** decimals);

  it('are never outside', () => {
    fc.assert(
      fc.property(decimal, decimal, fc.array(decimal, { maxLength: 40 }), (a, b, probes) => {
        const [minimum, maximum] = [Math.min(a, b), Math.max(a, b)];
        const expression = matcher(numberEbnf({ minimum, maximum }));
        for (const value of [...probes, minimum - 0.01, maximum + 0.01]) {
          for (const text of [
            String(value),
            value.toFixed(1),
            value.toFixed(2),
            value.toFixed(4),
          ]) {
            if (!expression.test(text)) continue;
            expect(Number(text)).toBeGreaterThanOrEqual(minimum);
            expect(Number(text)).toBeLessThanOrEqual(maximum);
          }
        }
      }),
    );
  });

  it('can be all that one would expect', () => {
    const probability = matcher(numberEbnf({ minimum: 0, maximum: 1 }));
    for (const text of ['0', '1', '0.5', '0.25', '0.999999']) expect(text).toMatch(probability);
    const price = matcher(numberEbnf({ exclusiveMinimum: 0 }));
    for (const text of ['0.01', '12.50', '999.99']) expect(text).toMatch(price);
    for (const text of ['0', '0.00', '-1.00']) expect(text).not.toMatch(price);
  });

  it('are refused where there is none, or bounds are too fine', () => {
    expect(() => numberEbnf({ minimum: 2, maximum: 1 })).toThrow('no number');
    expect(() => numberEbnf({ minimum: 1e-9 })).toThrow('decimals');
    expect(() => numberEbnf({ maximum: 1e300 })).not.toThrow();
  });
});
