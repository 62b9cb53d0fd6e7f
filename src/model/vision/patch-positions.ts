/**
 * Row of the table of positions for each patch of a tile, row by row: where it lies in a tile as large as
 * those of the training. Transformers computes that in float32, and is one row too low for some
 * patches of tiles with 19, 25, 29 or others along a side; published models have 24, 26, 27 or 32.
 * @param patches along each side
 * @param trained rows of the table, along each side
 */
export function patchPositions(patches: number, trained: number): Int32Array {
  const along = Array.from({ length: patches }, (_, at) => Math.floor((at * trained) / patches));
  return Int32Array.from(along.flatMap((row) => along.map((column) => row * trained + column)));
}
