/** Calls of the file system that run at once: they share Node.js's threads with all others. */
const AT_ONCE = 16;

/** Does something with each of the items, a few at a time. @throws what the first failure throws */
export async function eachOf<T>(
  items: readonly T[],
  visit: (item: T, index: number) => Promise<void>,
): Promise<void> {
  const left = items.entries();
  const work = async (): Promise<void> => {
    for (const [index, item] of left) await visit(item, index);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, work));
}
