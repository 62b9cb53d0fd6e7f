/** Inputs of vision graphs, beside the bytes of a tile. */
import { CHANNELS } from '../../images/pixels.ts';
import type { TileGrid } from '../../images/tiles.ts';
import type { GridShape, GridTower } from './grid-shape.ts';
import type { VisionShape } from './vision-part.ts';

/** A tensor, by the Open Inference Protocol's name of its type. */
export type VisionInput = { readonly name: string; readonly shape: readonly number[] } & (
  | { readonly datatype: 'UINT8'; readonly data: Uint8Array<ArrayBuffer> }
  | { readonly datatype: 'INT32'; readonly data: Int32Array<ArrayBuffer> }
  | { readonly datatype: 'FP32'; readonly data: Float32Array<ArrayBuffer> }
  | { readonly datatype: 'INT64'; readonly data: BigInt64Array<ArrayBuffer> }
);

/**
 * Inputs of a run over one tile.
 * @param bytes of its pixels, see cutImage
 * @param grid of the image; of a graph over tiles it is not looked at
 */
export function visionInputs(
  bytes: Uint8Array,
  grid: TileGrid,
  shape: VisionShape,
): readonly VisionInput[] {
  const data = new Uint8Array(bytes);
  if (shape.kind === 'grid') {
    const size = shape.tower.patchSide ** 2 * CHANNELS;
    const dims = [data.length / size, size];
    return [{ name: 'pixels', datatype: 'UINT8', shape: dims, data }, ...gridInputs(grid, shape)];
  }
  const { tileSide } = shape;
  const dims = [1, tileSide, tileSide, CHANNELS];
  return [{ name: 'pixels', datatype: 'UINT8', shape: dims, data }];
}

/** Where patches lie, cell by cell: their rows and columns, and which are in a window together. */
function gridInputs(grid: TileGrid, { merge, tower }: GridShape): VisionInput[] {
  const cells = Array.from({ length: grid.rows * grid.columns }, (_, cell) => ({
    row: Math.floor(cell / grid.columns),
    column: cell % grid.columns,
  }));
  const places = cells.flatMap(({ row, column }) =>
    Array.from({ length: merge ** 2 }, (_, patch): Place => [
      row * merge + Math.floor(patch / merge),
      column * merge + (patch % merge),
    ]),
  );
  return [
    {
      name: 'places',
      datatype: 'INT64',
      shape: [places.length, 2],
      data: BigInt64Array.from(places.flat(), BigInt),
    },
    ...(tower.windows === null ? [] : windowInputs(grid, tower.windows, merge)),
    ...(tower.tableSide === null
      ? []
      : tableInputs(places, [grid.rows * merge, grid.columns * merge], tower.tableSide)),
  ];
}

/** Row and column of a patch. */
type Place = readonly [row: number, column: number];

/** Rows of the table that a patch's position is made of. */
export const NEIGHBOURS = 4;

/** Each patch's neighbours in a table whose corners are the image's, and their shares, as float32 rounds them. */
function tableInputs(
  places: readonly Place[],
  [height, width]: Place,
  tableSide: number,
): VisionInput[] {
  const along = (place: number, size: number) => {
    const exact = Math.fround(Math.fround(place * (tableSide - 1)) / Math.max(1, size - 1));
    const below = Math.floor(exact);
    return [0, 1].map((step) => ({
      at: Math.min(below + step, tableSide - 1),
      share: Math.max(0, Math.fround(1 - Math.abs(Math.fround(exact - below) - step))),
    }));
  };
  const neighbours = places.flatMap(([row, column]) =>
    along(row, height).flatMap((vertical) =>
      along(column, width).map((horizontal) => ({
        row: vertical.at * tableSide + horizontal.at,
        share: vertical.share * horizontal.share,
      })),
    ),
  );
  const { length } = places;
  return [
    {
      name: 'table_rows',
      datatype: 'INT64',
      shape: [length, NEIGHBOURS],
      data: BigInt64Array.from(neighbours, ({ row }) => BigInt(row)),
    },
    {
      name: 'table_shares',
      datatype: 'FP32',
      shape: [length, NEIGHBOURS, 1],
      data: Float32Array.from(neighbours, ({ share }) => share),
    },
  ];
}

/** Windows from the upper left on; those at the right and below may have fewer patches. */
function windowInputs(
  { rows, columns }: TileGrid,
  { cells: side }: NonNullable<GridTower['windows']>,
  merge: number,
): VisionInput[] {
  const perCell = merge ** 2;
  const size = side ** 2 * perCell;
  const across = Math.ceil(columns / side);
  const count = Math.ceil(rows / side) * across;
  const lengths = new Int32Array(count);
  const windows = new BigInt64Array(count * size);
  const places = new BigInt64Array(rows * columns * perCell);
  for (let patch = 0; patch < places.length; patch++) {
    const cell = Math.floor(patch / perCell);
    const [row, column] = [Math.floor(cell / columns), cell % columns];
    const window = Math.floor(row / side) * across + Math.floor(column / side);
    const place = window * size + (lengths[window] ?? 0);
    lengths[window] = (lengths[window] ?? 0) + 1;
    windows[place] = BigInt(patch);
    places[patch] = BigInt(place);
  }
  return [
    { name: 'windows', datatype: 'INT64', shape: [count, size], data: windows },
    { name: 'window_lengths', datatype: 'INT32', shape: [count], data: lengths },
    { name: 'window_places', datatype: 'INT64', shape: [places.length], data: places },
  ];
}
