/** The most tokens, up to `limit`, whose cost is within `budgetMs`; may be 0. */
export function mostWithin(
  budgetMs: number,
  limit: number,
  costMs: (tokens: number) => number,
): number {
  let [low, high] = [0, limit];
  while (low < high) {
    const tokens = Math.ceil((low + high) / 2);
    if (costMs(tokens) <= budgetMs) low = tokens;
    else high = tokens - 1;
  }
  return low;
}
