/** Most names that an error lists. */
const MAX_NAMES = 5;
/** Least share of pairs of characters that two similar names have in common. */
const LEAST_LIKENESS = 0.3;

/**
 * Those of `names` that somebody who wrote `name` may have meant, the likeliest first: by the pairs of
 * neighbouring characters that both have (Dice's coefficient). All if there are few.
 */
export function nearNames(name: string, names: readonly string[]): readonly string[] {
  return names.length <= MAX_NAMES ? names : alikeNames(name, names);
}

/** As `nearNames`, but none that is not alike. @param least likeness, above 0 and below 1 */
export function alikeNames(
  name: string,
  names: readonly string[],
  least = LEAST_LIKENESS,
): readonly string[] {
  const wanted = pairsOf(name);
  return names
    .map((candidate) => ({ candidate, likeness: likeness(wanted, pairsOf(candidate)) }))
    .filter(({ likeness: found }) => found > least)
    .toSorted((a, b) => b.likeness - a.likeness)
    .slice(0, MAX_NAMES)
    .map(({ candidate }) => candidate);
}

function pairsOf(text: string): ReadonlySet<string> {
  const lower = text.slice(0, 100).toLowerCase();
  return new Set(Array.from({ length: lower.length - 1 }, (_, at) => lower.slice(at, at + 2)));
}

function likeness(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const numShared = [...a].filter((pair) => b.has(pair)).length;
  return (2 * numShared) / Math.max(1, a.size + b.size);
}
