/** Embeddings of an image whose tiles have margins: those of the whole, then the image's lines across all tiles. */
import type { TileGrid } from '../../images/tiles.ts';

type Rows = Float32Array<ArrayBuffer>;

/** @param perTile embeddings of a tile, without the one that ends a line */
export function numPackedRows({ shown, ...tiles }: TileGrid, perTile: number): number {
  const { rows, columns } = shown ?? { rows: 0, columns: 0 };
  // An image that is the whole alone ends as a line does.
  return perTile + (tiles.rows === 0 ? 1 : rows * (columns + 1));
}

/**
 * Rows in the order in which a text model reads them.
 * @param tiles row by row, and last the whole image: float [cells * cells + 1, size] of each, whose last row ends
 *   a line
 * @param cells along each side of a tile
 */
export function packedRows(tiles: readonly Rows[], grid: TileGrid, cells: number): Rows {
  const whole = tiles.at(-1) ?? new Float32Array();
  const { shown, rows, columns } = grid;
  if (shown === undefined || rows === 0) return whole;
  const size = whole.length / (cells ** 2 + 1);
  let to = cells ** 2 * size;
  const lineEnd = whole.subarray(to);
  const packed = new Float32Array(numPackedRows(grid, cells ** 2) * size);
  packed.set(whole.subarray(0, to));
  const top = (rows * cells - shown.rows) / 2;
  const left = (columns * cells - shown.columns) / 2;
  for (let row = top; row < top + shown.rows; row++) {
    for (let column = left; column < left + shown.columns;) {
      const tile = tiles[Math.floor(row / cells) * columns + Math.floor(column / cells)] ?? whole;
      // As many as the tile has of this line.
      const end = Math.min(left + shown.columns, (Math.floor(column / cells) + 1) * cells);
      const from = ((row % cells) * cells + (column % cells)) * size;
      const line = tile.subarray(from, from + (end - column) * size);
      packed.set(line, to);
      to += line.length;
      column = end;
    }
    packed.set(lineEnd, to);
    to += size;
  }
  return packed;
}
