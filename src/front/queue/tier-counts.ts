/** Counts by tier; lower tiers are better. */
export class TierCounts {
  readonly #counts = new Map<number, number>();

  add(tier: number, count: number): void {
    const sum = this.of(tier) + count;
    if (sum === 0) this.#counts.delete(tier);
    else this.#counts.set(tier, sum);
  }

  of(tier: number): number {
    return this.#counts.get(tier) ?? 0;
  }

  /** Count of this tier and all better ones. */
  upTo(tier: number): number {
    let sum = 0;
    for (const [each, count] of this.#counts) if (each <= tier) sum += count;
    return sum;
  }

  get total(): number {
    return this.upTo(Infinity);
  }
}
