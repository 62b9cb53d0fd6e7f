/**
 * The shares of a schedule's rounds: from nothing to the last one, more slowly the nearer it comes
 * (polynomial decay of degree 3, Zhu and Gupta: "To prune, or not to prune", 2017).
 */
export function polynomialShares(share: number, rounds: number): number[] {
  return Array.from({ length: rounds }, (_, round) => {
    const left = 1 - (round + 1) / rounds;
    return share * (1 - left ** 3);
  });
}
