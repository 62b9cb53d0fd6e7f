/**
 * How many channels each layer keeps so that what all layers lose together is least. Channels go in
 * groups, those of least loss first, and no layer loses all of its groups.
 * @param losses by layer, what it costs to remove each of its channels
 * @param unit channels of a group; each layer has a multiple of it
 * @param kept channels that are kept in all, a multiple of it
 */
export function leastLossWidths(
  losses: readonly Float64Array[],
  unit: number,
  kept: number,
): number[] {
  const groups = losses.flatMap((channels, layer) => {
    const sorted = channels.toSorted();
    return Array.from({ length: sorted.length / unit - 1 }, (_, index) => ({
      layer,
      loss: sum(sorted.subarray(index * unit, (index + 1) * unit)),
    }));
  });
  const widths = losses.map(({ length }) => length);
  const numRemoved = (sum(widths) - kept) / unit;
  // A layer's groups cost more and more: the cheapest of all layers' are the first ones of each.
  for (const { layer } of groups.sort((a, b) => a.loss - b.loss).slice(0, numRemoved)) {
    widths[layer] = (widths[layer] ?? 0) - unit;
  }
  return widths;
}

function sum(values: readonly number[] | Float64Array): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
