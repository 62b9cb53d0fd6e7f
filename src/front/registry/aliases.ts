import { createHash } from 'node:crypto';

/** By alias, what it stands for and with which weight: `{"chat": {"summit@1": 90, "summit@2": 10}}`. */
export type Aliases = ReadonlyMap<string, ReadonlyMap<string, number>>;

/**
 * Model that `name` stands for; `name` itself if it is no alias.
 * @param user whose request it is: the same one always gets the same model, '' any of them
 */
export function resolveAlias(aliases: Aliases, name: string, user: string): string {
  const targets = aliases.get(name);
  if (targets === undefined) return name;
  const total = [...targets.values()].reduce((sum, weight) => sum + weight, 0);
  let left = shareOf(name, user) * total;
  for (const [target, weight] of targets) {
    left -= weight;
    if (left < 0) return target;
  }
  return [...targets.keys()].at(-1) ?? name;
}

/** From 0 up to 1. */
function shareOf(alias: string, user: string): number {
  if (user === '') return Math.random();
  const digest = createHash('sha256')
    .update(JSON.stringify([alias, user]))
    .digest();
  return digest.readUInt32LE() / 2 ** 32;
}
