/** Edge of the square blocks that are transposed at a time: two of them fit a level 1 cache. */
const BLOCK = 32;

type Numbers = Float32Array | Uint16Array | Int8Array;

/**
 * Writes the transpose of `source` [rows, columns] into the columns `firstColumn` to
 * `firstColumn + rows - 1` of `target` [columns, targetColumns].
 */
export function transposeInto(
  source: Numbers,
  rows: number,
  columns: number,
  target: Numbers,
  targetColumns: number,
  firstColumn: number,
): void {
  for (let row0 = 0; row0 < rows; row0 += BLOCK) {
    const rowEnd = Math.min(row0 + BLOCK, rows);
    for (let column0 = 0; column0 < columns; column0 += BLOCK) {
      const columnEnd = Math.min(column0 + BLOCK, columns);
      for (let column = column0; column < columnEnd; column++) {
        const targetRow = column * targetColumns + firstColumn;
        for (let row = row0; row < rowEnd; row++) {
          target[targetRow + row] = source[row * columns + column] ?? Number.NaN;
        }
      }
    }
  }
}
