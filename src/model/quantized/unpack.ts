/** Integers that are packed in words, the first in the lowest bits. */

/** @param order by place from the lowest bits on, the integer that lies there */
export interface Packing {
  readonly bits: 4 | 8;
  readonly order?: readonly number[];
}

/** Words along rows: [rows, words] becomes [rows, columns]. @param columns as many as are wanted */
export function unpackAlongRows(
  words: Int32Array,
  [rows, columns]: readonly [number, number],
  { bits, order }: Packing,
): Uint8Array {
  const perWord = 32 / bits;
  const wordsPerRow = words.length / rows;
  const mask = 2 ** bits - 1;
  const values = new Uint8Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    for (let index = 0; index < wordsPerRow; index++) {
      const word = words[row * wordsPerRow + index] ?? 0;
      for (let place = 0; place < perWord; place++) {
        const column = index * perWord + (order?.[place] ?? place);
        if (column < columns) values[row * columns + column] = (word >>> (place * bits)) & mask;
      }
    }
  }
  return values;
}

/** Words along columns: [words, columns] becomes [rows, columns]. */
export function unpackAlongColumns(
  words: Int32Array,
  [rows, columns]: readonly [number, number],
  { bits }: Packing,
): Uint8Array {
  const perWord = 32 / bits;
  const mask = 2 ** bits - 1;
  const values = new Uint8Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    const first = Math.floor(row / perWord) * columns;
    const shift = (row % perWord) * bits;
    for (let column = 0; column < columns; column++) {
      values[row * columns + column] = ((words[first + column] ?? 0) >>> shift) & mask;
    }
  }
  return values;
}

/** Integers of any size that follow each other through all words of a row. @param bytes of whole rows */
export function unpackBits(
  bytes: Uint8Array,
  [rows, columns]: readonly [number, number],
  bits: number,
): Uint8Array {
  const values = new Uint8Array(rows * columns);
  const mask = 2 ** bits - 1;
  for (let at = 0; at < values.length; at++) {
    // A row has whole words, so that the place of an integer is that among all.
    const bit = at * bits;
    const byte = Math.floor(bit / 8);
    const pair = (bytes[byte] ?? 0) | ((bytes[byte + 1] ?? 0) << 8);
    values[at] = (pair >> (bit % 8)) & mask;
  }
  return values;
}

/** Edge of the square that is transposed at a time. */
const TILE = 64;

/** [rows, columns] becomes [columns, rows]. */
export function transposed<T extends Uint8Array | Float32Array>(
  values: T,
  [rows, columns]: readonly [number, number],
): T {
  const turned = values.slice() as T;
  for (let row0 = 0; row0 < rows; row0 += TILE) {
    for (let column0 = 0; column0 < columns; column0 += TILE) {
      for (let row = row0; row < Math.min(row0 + TILE, rows); row++) {
        for (let column = column0; column < Math.min(column0 + TILE, columns); column++) {
          turned[column * rows + row] = values[row * columns + column] ?? 0;
        }
      }
    }
  }
  return turned;
}
