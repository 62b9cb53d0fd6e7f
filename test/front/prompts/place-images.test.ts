import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { placeImages } from '../../../src/front/prompts/place-images.ts';

const HOLE = 7;
const PLACES = { tokenId: HOLE };
const FILE = new Uint8Array();

function imageOf(hashes: readonly string[], tokensPerTile = 3) {
  return { file: FILE, inDetail: true, placeholder: '', hashes, tokensPerTile };
}

function promptOf(...parts: readonly (number | 'tile')[]): Int32Array {
  return Int32Array.from(parts.flatMap((part) => (part === 'tile' ? [HOLE, HOLE, HOLE] : [part])));
}

test('each tile gets the positions of its placeholder, in order', () => {
  const prompt = promptOf(1, 'tile', 2, 'tile', 'tile', 3);
  const { tokenIds, images } = placeImages(prompt, [imageOf(['a', 'b']), imageOf(['c'])], PLACES);
  expect(images.map(({ tiles }) => tiles)).toEqual([
    [
      { start: 1, hash: 'a' },
      { start: 5, hash: 'b' },
    ],
    [{ start: 8, hash: 'c' }],
  ]);
  expect([tokenIds[0], tokenIds[4], tokenIds[11]]).toEqual([1, 2, 3]);
  expect(tokenIds.filter((id) => id < 0)).toHaveLength(9);
  expect(prompt).toEqual(promptOf(1, 'tile', 2, 'tile', 'tile', 3));
});

test('images take as many positions as each needs, and keep their grids', () => {
  const prompt = Int32Array.of(1, HOLE, 2, HOLE, HOLE, HOLE, HOLE);
  const grid = { height: 2, width: 2 };
  const given = [imageOf(['a'], 1), { ...imageOf(['b'], 4), grid }];
  const { images } = placeImages(prompt, given, PLACES);
  expect(images).toMatchObject([
    { tiles: [{ start: 1, hash: 'a' }], tokensPerTile: 1 },
    { tiles: [{ start: 3, hash: 'b' }], tokensPerTile: 4, grid },
  ]);
  expect(images[0]).not.toHaveProperty('grid');
  const other = [imageOf(['a'], 1), imageOf(['b'], 5)];
  expect(() => placeImages(prompt, other, PLACES)).toThrow(/more or fewer places/);
});

test('lines of a tile have a token of text in between, and the ids that they have without', () => {
  const line = [HOLE, HOLE];
  const prompt = Int32Array.of(1, ...line, 8, ...line, 8, ...line, 9, HOLE, HOLE, 9);
  const lines = { ...imageOf(['a'], 6), tokensPerLine: 2 };
  const { tokenIds, images } = placeImages(prompt, [lines, imageOf(['b'], 2)], PLACES);
  expect(images).toMatchObject([
    { tiles: [{ start: 1, hash: 'a' }], tokensPerTile: 6, tokensPerLine: 2 },
    { tiles: [{ start: 10, hash: 'b' }] },
  ]);
  expect([3, 6, 9, 12].map((at) => tokenIds[at])).toEqual([8, 8, 9, 9]);
  const whole = placeImages(new Int32Array(6).fill(HOLE), [imageOf(['a'], 6)], PLACES);
  const placed = [...tokenIds.slice(0, 9)].filter((id) => id < 0);
  expect(placed).toEqual([...whole.tokenIds]);
  const parted = Int32Array.of(...line, 8, HOLE, 8, HOLE, ...line);
  expect(() => placeImages(parted, [lines], PLACES)).toThrow(/more or fewer places/);
  expect(() => placeImages(prompt.slice(0, 8), [lines], PLACES)).toThrow(/more or fewer places/);
});

test('ids are those of the tile, wherever it stands, and of no other one', () => {
  const idsOf = (hash: string, before: number) => {
    const prompt = promptOf(...Array.from({ length: before }, () => 1), 'tile');
    return [...placeImages(prompt, [imageOf([hash])], PLACES).tokenIds.slice(before)];
  };
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.nat(20), (a, b, before) => {
      expect(idsOf(a, before)).toEqual(idsOf(a, 0));
      fc.pre(a !== b);
      expect(idsOf(a, 0)).not.toEqual(idsOf(b, 0));
    }),
  );
});

test.each<[string, Int32Array, readonly string[]]>([
  ['no place', promptOf(1), ['a']],
  ['a place too many', promptOf(1, 'tile', 'tile'), ['a']],
  ['a place that is cut off', promptOf(1, HOLE, HOLE), ['a']],
  ['a place that is parted', promptOf(HOLE, 1, HOLE, HOLE), ['a']],
  ['a place without an image', promptOf('tile'), []],
])('%s is an error', (_, prompt, hashes) => {
  expect(() => placeImages(prompt, [imageOf(hashes)], PLACES)).toThrow(/more or fewer places/);
});
