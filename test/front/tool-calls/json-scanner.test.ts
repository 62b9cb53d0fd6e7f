import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonScanner } from '../../../src/front/tool-calls/json-scanner.ts';

/** How far the scanner goes along, and whether it found the value complete. */
function scan(text: string): { length: number; isDone: boolean } {
  const scanner = new JsonScanner();
  for (let index = 0; index < text.length; index++) {
    if (!scanner.push(text.charAt(index))) return { length: index, isDone: false };
  }
  return { length: text.length, isDone: scanner.isDone };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('the JSON scanner', () => {
  it('goes along with every object, in any layout, and ends with it', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.integer({ min: 0, max: 3 }),
        (value, indent) => {
          const text = JSON.stringify(value, null, indent);
          expect(scan(text)).toEqual({ length: text.length, isDone: true });
          expect(scan(text.slice(0, -1)).isDone).toBe(false);
        },
      ),
    );
  });

  it('agrees with JSON.parse on texts with a fault', () => {
    const mutated = fc
      .tuple(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.nat(),
        fc.constantFrom(...Array.from('{}[]",:1-.eEtn\\u \n')),
      )
      .map(([value, at, character]) => {
        const text = JSON.stringify(value);
        const position = at % text.length;
        return text.slice(0, position) + character + text.slice(position + 1);
      });
    fc.assert(
      fc.property(mutated, (text) => {
        const { length, isDone } = scan(text);
        const isWhole = length === text.length && isDone;
        // A number at the top is not known to be complete.
        fc.pre(/^[[{]/.test(text));
        expect({ text, isWhole }).toEqual({ text, isWhole: isJson(text) });
      }),
      { numRuns: 2000 },
    );
  });
});
