/** Most names that an error lists. */
const MAX_NAMES = 5;

/**
 * Those of `names` that somebody who wrote `name` may have meant, the likeliest first: by the pairs of
 * neighbouring characters that both have (Dice's coefficient). All if there are few.
 */
export function nearNames(name: string, names: readonly string[]): readonly string[] {
  if (names.length <= MAX_NAMES) return names;
  const wanted = pairsOf(name);
  return names
    .map((candidate) => ({ candidate, likeness: likeness(wanted, pairsOf(candidate)) }))
    .filter(({ likeness: found }) => found > 0.3)
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
