/** Characters of texts that are tokenized as one task: some 50 ms of a thread. */
const GROUP_CHARACTERS = 65_536;

/** Consecutive items of so many characters together, or one that has more. */
export function* inGroups<T>(
  items: readonly T[],
  charactersOf: (item: T) => number,
): Generator<readonly T[], void> {
  let group: T[] = [];
  let characters = 0;
  for (const item of items) {
    const own = charactersOf(item);
    if (group.length > 0 && characters + own > GROUP_CHARACTERS) {
      yield group;
      group = [];
      characters = 0;
    }
    group.push(item);
    characters += own;
  }
  if (group.length > 0) yield group;
}
