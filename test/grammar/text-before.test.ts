import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TextBefore } from '../../src/grammar/text-before.ts';

/** The part of a text that is the JSON's. */
function jsonOf(before: TextBefore, text: string): string {
  const state = { ...before.start };
  const bytes: number[] = [];
  for (const byte of Buffer.from(text)) before.step(state, byte, (found) => bytes.push(found));
  return Buffer.from(bytes).toString();
}

describe('the text before a counted JSON', () => {
  it.each(['aabaaab', 'abab', 'aaa', '◁/t▷', '◁◀'])('ends with the first %s', (close) => {
    const before = new TextBefore({ open: '<', close, isOpen: true, next: '', answer: '' });
    const unit = fc.constantFrom(...Array.from(`${close}◀x`));
    const property = fc.property(fc.string({ unit, maxLength: 30 }), (thought) => {
      const text = `${thought}${close}{"a": 1}`;
      expect(jsonOf(before, text)).toBe(text.slice(text.indexOf(close) + close.length));
    });
    fc.assert(property, { numRuns: 500, seed: 5 });
  });

  it('has what follows the thought, and what opens the answer', () => {
    const layout = { open: '<a>', close: '</a>', isOpen: false, next: '<next>', answer: '<b>' };
    const before = new TextBefore(layout);
    expect(jsonOf(before, '<a>{}</a><next><b>{"<b>": 1}')).toBe('{"<b>": 1}');
    expect(jsonOf(before, '<b>["<a>"]')).toBe('["<a>"]');
    expect(jsonOf(new TextBefore({ ...layout, next: '' }), '<a></a>\n\n\n\n<b>[]')).toBe('[]');
  });

  it('is nothing without a thought', () => {
    expect(jsonOf(new TextBefore(undefined), '<a>[]')).toBe('<a>[]');
  });
});
