import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StopStrings, type StopStringsOutput } from '../../../src/front/text/stop-strings.ts';

function run(
  pieces: readonly string[],
  stop: readonly string[],
  includeStop = false,
): StopStringsOutput {
  const stopStrings = new StopStrings(stop, { includeStop });
  let text = '';
  for (const piece of pieces) {
    const output = stopStrings.push(piece);
    text += output.text;
    if (output.stopped !== null) return { text, stopped: output.stopped };
  }
  const output = stopStrings.flush();
  return { text: text + output.text, stopped: output.stopped };
}

/** The same by searching the whole text. */
function reference(text: string, stop: readonly string[], includeStop: boolean): StopStringsOutput {
  const found = stop
    .map((stopped) => ({ stopped, at: text.indexOf(stopped) }))
    .filter(({ at }) => at !== -1)
    .sort((a, b) => a.at - b.at || a.stopped.length - b.stopped.length)[0];
  if (found === undefined) return { text, stopped: null };
  const before = text.slice(0, found.at);
  return { text: includeStop ? before + found.stopped : before, stopped: found.stopped };
}

// Two letters: everything overlaps with everything.
const letters = (minLength: number, maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom('a', 'b'), minLength, maxLength });

describe('StopStrings', () => {
  it('finds what a search of the whole text finds, however the text is cut', () => {
    fc.assert(
      fc.property(
        fc.array(letters(0, 4), { maxLength: 10 }),
        fc.array(letters(1, 6), { maxLength: 4 }),
        fc.boolean(),
        (pieces, stop, includeStop) => {
          const expected = reference(pieces.join(''), stop, includeStop);
          expect(run(pieces, stop, includeStop)).toEqual(expected);
        },
      ),
      { numRuns: 3000 },
    );
  });

  it('finds stop strings of any characters', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'grapheme', maxLength: 5 })),
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 4 }),
        fc.array(fc.string({ unit: 'grapheme', maxLength: 3 })),
        (before, stop, after) => {
          const pieces = [...before, ...Array.from(stop), ...after];
          expect(run(pieces, [stop])).toEqual(reference(pieces.join(''), [stop], false));
        },
      ),
    );
  });

  it('holds back no more than may start a stop string', () => {
    fc.assert(
      fc.property(
        fc.array(letters(1, 3), { maxLength: 10 }),
        fc.array(letters(1, 6), { minLength: 1, maxLength: 3 }),
        (pieces, stop) => {
          const stopStrings = new StopStrings(stop, { includeStop: false });
          let given = '';
          let seen = '';
          for (const piece of pieces) {
            const output = stopStrings.push(piece);
            if (output.stopped !== null) return;
            given += output.text;
            seen += piece;
            const held = seen.slice(given.length);
            if (held === '') continue;
            expect(stop.some((text) => text.length > held.length && text.startsWith(held))).toBe(
              true,
            );
          }
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('stops at once when nothing can start earlier', () => {
    const stopStrings = new StopStrings(['\n\n', '\n\nQ:'], { includeStop: false });
    expect(stopStrings.push('x\n')).toEqual({ text: 'x', stopped: null });
    expect(stopStrings.push('\n')).toEqual({ text: '', stopped: '\n\n' });
    expect(stopStrings.push('more')).toEqual({ text: '', stopped: null });
    expect(stopStrings.flush()).toEqual({ text: '', stopped: null });
  });

  it('waits for a stop string that starts earlier, and gives it up when it breaks off', () => {
    expect(run(['xab', 'c', 'd'], ['abcd', 'bc'])).toEqual({ text: 'x', stopped: 'abcd' });
    expect(run(['xab', 'c', 'e'], ['abcd', 'bc'])).toEqual({ text: 'xa', stopped: 'bc' });
    expect(run(['xab', 'c'], ['abcd', 'bc'])).toEqual({ text: 'xa', stopped: 'bc' });
  });

  it('gives out all text when there are no stop strings', () => {
    const stopStrings = new StopStrings([], { includeStop: false });
    expect(stopStrings.push('abc')).toEqual({ text: 'abc', stopped: null });
  });

  it('refuses an empty stop string', () => {
    expect(() => new StopStrings(['a', ''], { includeStop: false })).toThrow(RangeError);
  });
});
