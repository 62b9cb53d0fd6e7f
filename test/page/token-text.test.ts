import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { percent, piecesOf, textWith } from '../../web/src/views/chat/model/token-text.ts';

function cut(text: string, sizes: readonly number[]) {
  const bytes = [...new TextEncoder().encode(text)];
  const tokens: { bytes: number[] }[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = (sizes[turn % sizes.length] ?? 0) + 1;
    tokens.push({ bytes: bytes.slice(at, at + size) });
    at += size;
  }
  return tokens;
}

test('pieces are the text, and each token is in one, wherever characters are cut', () => {
  const sizes = fc.array(fc.nat(3), { minLength: 1 });
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 24 }),
      sizes,
      (text, each) => {
        const tokens = cut(text, each);
        const pieces = piecesOf(tokens);
        expect(pieces.map((piece) => piece.text).join('')).toBe(text);
        expect(pieces[0]?.from).toBe(0);
        expect(pieces.at(-1)?.to).toBe(tokens.length - 1);
        pieces
          .slice(1)
          .forEach(({ from }, index) => expect(from).toBe((pieces[index]?.to ?? 0) + 1));
      },
    ),
  );
});

test('a text goes on with another token', () => {
  const tokens = cut('héllo', [0]);
  const other = { bytes: [...new TextEncoder().encode('y')] };
  expect(textWith(tokens, 3, other)).toBe('héy');
  // After half of a character, that half goes.
  expect(textWith(tokens, 2, { bytes: [] })).toBe('h');
});

test('shares are told in few digits', () => {
  expect([0, Math.log(0.5), Math.log(0.00001)].map(percent)).toEqual(['100%', '50.0%', '<0.1%']);
});
