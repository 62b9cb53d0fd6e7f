/**
 * The order of columns in which those that share a scale are neighbours.
 * @param groups of each column, the number of its scale
 * @returns null where they are so already
 * @throws {RangeError} if a group but the last has not as many columns as the others
 */
export function columnOrder(groups: Int32Array, groupSize: number): Int32Array | null {
  const order = Int32Array.from(groups.keys());
  // Sorting keeps the order of equals.
  order.sort((a, b) => (groups[a] ?? 0) - (groups[b] ?? 0) || a - b);
  let isInOrder = true;
  for (const [place, column] of order.entries()) {
    if (groups[column] !== Math.floor(place / groupSize)) {
      throw new RangeError(`its groups of columns are not all of ${groupSize}`);
    }
    isInOrder &&= place === column;
  }
  return isInOrder ? null : order;
}
