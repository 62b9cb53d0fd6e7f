/** Which weights of a matrix are removed: by place, 1 for those. */

/** A matrix of scores, of magnitudes for example. */
export interface Scores {
  readonly values: Float32Array;
  readonly columns: number;
}

/** The lowest scores of all, or of each group of rows by itself. @param rowsAtOnce rows of a group */
export function lowest({ values, columns }: Scores, share: number, rowsAtOnce: number): Uint8Array {
  const mask = new Uint8Array(values.length);
  const size = rowsAtOnce * columns;
  for (let start = 0; start < values.length; start += size) {
    const group = values.subarray(start, start + size);
    markLowest(group, Math.round(group.length * share), mask.subarray(start, start + size));
  }
  return mask;
}

/** The two lowest of each four neighbours in a row. */
export function twoOfFour({ values }: Scores): Uint8Array {
  const mask = new Uint8Array(values.length);
  for (let start = 0; start < values.length; start += 4) {
    markLowest(values.subarray(start, start + 4), 2, mask.subarray(start, start + 4));
  }
  return mask;
}

/**
 * Whole squares of `size` rows and columns, by the mean of their scores. What is left over at the end of
 * rows and columns is smaller squares.
 */
export function lowestBlocks(
  { values, columns }: Scores,
  size: number,
  find: (blocks: Scores) => Uint8Array,
): Uint8Array {
  if (size === 1) return find({ values, columns });
  const rows = values.length / columns;
  const across = Math.ceil(columns / size);
  const means = new Float32Array(Math.ceil(rows / size) * across);
  const counts = new Float32Array(means.length);
  const blockOf = (place: number) =>
    Math.floor(place / columns / size) * across + Math.floor((place % columns) / size);
  for (let place = 0; place < values.length; place++) {
    const block = blockOf(place);
    means[block] = (means[block] ?? 0) + (values[place] ?? 0);
    counts[block] = (counts[block] ?? 0) + 1;
  }
  for (let block = 0; block < means.length; block++) {
    means[block] = (means[block] ?? 0) / (counts[block] ?? 1);
  }
  const found = find({ values: means, columns: across });
  return new Uint8Array(values.length).map((_, place) => found[blockOf(place)] ?? 0);
}

/** Marks the lowest scores. The first ones count as lower among equal scores. */
function markLowest(scores: Float32Array, count: number, mask: Uint8Array): void {
  if (count <= 0) return;
  const limit = scores.toSorted()[count - 1] ?? Infinity;
  let marked = 0;
  for (let i = 0; i < scores.length; i++) {
    if ((scores[i] ?? 0) >= limit) continue;
    mask[i] = 1;
    marked++;
  }
  for (let i = 0; i < scores.length && marked < count; i++) {
    if (scores[i] !== limit) continue;
    mask[i] = 1;
    marked++;
  }
}
