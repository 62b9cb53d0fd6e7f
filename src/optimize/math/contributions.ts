/**
 * Contribution of each unit of neighbouring columns to the products of a matrix: the sum of its squared
 * outputs over the inputs that a Gram matrix was summed up from. For single columns that is the squared
 * norm of the column times that of its input.
 * @param weights [rows, columns]
 * @param gram [columns, columns]
 * @param unit columns of a unit
 */
export function contributions(
  weights: Float32Array,
  gram: Float64Array,
  unit: number,
): Float64Array {
  const columns = Math.sqrt(gram.length);
  const sums = new Float64Array(columns / unit);
  for (let start = 0; start < weights.length; start += columns) {
    for (let index = 0; index < sums.length; index++) {
      const first = index * unit;
      let sum = 0;
      for (let i = first; i < first + unit; i++) {
        const weight = weights[start + i] ?? 0;
        for (let j = first; j < first + unit; j++) {
          sum += weight * (weights[start + j] ?? 0) * (gram[i * columns + j] ?? 0);
        }
      }
      sums[index] = (sums[index] ?? 0) + sum;
    }
  }
  return sums;
}

/** Places of the largest values, in ascending order; of equal ones the first. */
export function largest(values: ArrayLike<number>, count: number): number[] {
  return Array.from(values, (value, index) => ({ value, index }))
    .sort((a, b) => b.value - a.value || a.index - b.index)
    .slice(0, count)
    .map(({ index }) => index)
    .sort((a, b) => a - b);
}
