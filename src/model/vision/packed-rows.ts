/** Embeddings of an image whose tiles have margins: those of the whole, then the image's lines across all tiles. */
import type { TileGrid } from '../../images/tiles.ts';

type Rows = Float32Array<ArrayBuffer>;

const NONE = { rows: 0, columns: 0 };

/** @param perTile embeddings of a tile, without the one that ends a line */
export function numPackedRows(
  { shown = NONE, scaled = shown, ...tiles }: TileGrid,
  perTile: number,
): number {
  // An image that is the whole alone ends as a line does.
  return perTile + (tiles.rows === 0 ? 1 : scaled.rows * (scaled.columns + 1));
}

/**
 * Adds what an image has of a tile, in the order in which a text model reads it. Several tiles are looked at for one
 * row where lines are scaled.
 * @param packed rows of the image, see numPackedRows; zeros before the first tile
 * @param made float [cells * cells + 1, size] of the tile, whose last row ends a line
 * @param tile index of it: row by row, and last the whole image
 * @param cells along each side of a tile
 */
export function packTile(
  packed: Rows,
  made: Rows,
  tile: number,
  { shown = NONE, scaled = shown, ...grid }: TileGrid,
  cells: number,
): void {
  const size = made.length / (cells ** 2 + 1);
  const start = cells ** 2 * size;
  const perLine = (scaled.columns + 1) * size;
  if (tile === grid.rows * grid.columns) {
    packed.set(made.subarray(0, start));
    const lineEnd = made.subarray(start);
    if (tile === 0) packed.set(lineEnd, start);
    else
      for (let line = 1; line <= scaled.rows; line++)
        packed.set(lineEnd, start + line * perLine - size);
    return;
  }
  const [row, column] = [Math.floor(tile / grid.columns), tile % grid.columns];
  const top = (grid.rows * cells - shown.rows) / 2 - row * cells;
  const left = (grid.columns * cells - shown.columns) / 2 - column * cells;
  const across = sharesOf(scaled.columns, shown.columns, left, cells);
  for (const down of sharesOf(scaled.rows, shown.rows, top, cells)) {
    for (const { to, from, share } of across) {
      const at = (down.from * cells + from) * size;
      const into = start + down.to * perLine + to * size;
      add(packed, into, made.subarray(at, at + size), down.share * share);
    }
  }
}

/** A place of an image's that a cell of a tile has a part in. */
interface Share {
  readonly to: number;
  readonly from: number;
  readonly share: number;
}

/**
 * Shares along one axis, as bilinear interpolation of PyTorch has them.
 * @param offset place within the tile of the first that is shown
 */
function sharesOf(count: number, shown: number, offset: number, cells: number): Share[] {
  const scale = Math.fround(shown / count);
  const shares: Share[] = [];
  for (let to = 0; to < count; to++) {
    const exact = count === shown ? to : Math.max(0, Math.fround(scale * (to + 0.5)) - 0.5);
    const below = Math.min(Math.floor(exact), shown - 1);
    const above = Math.min(below + 1, shown - 1);
    for (const [at, share] of [
      [below, 1 - (exact - below)],
      [above, exact - below],
    ] as const) {
      const from = at + offset;
      if (share > 0 && from >= 0 && from < cells) shares.push({ to, from, share });
    }
  }
  return shares;
}

function add(packed: Rows, into: number, row: Rows, share: number): void {
  if (share === 1) packed.set(row, into);
  else row.forEach((value, at) => (packed[into + at] = (packed[into + at] ?? 0) + share * value));
}
