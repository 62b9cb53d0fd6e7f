/** Regular expressions whose texts have so many characters: the same trees with narrower repetitions. */
import type { Bounds } from './counted-text.ts';
import type { RegexNode, Repetition } from './regex-tree.ts';

interface Lengths {
  readonly min: number;
  /** May be Infinity. */
  readonly max: number;
}

/** Fewest and most characters of the texts that a tree matches. */
export function lengthsOf(node: RegexNode): Lengths {
  switch (node.kind) {
    case 'text': {
      const length = Array.from(node.text).length;
      return { min: length, max: length };
    }
    case 'class':
      return { min: 1, max: 1 };
    case 'sequence':
      return sumOf(node.items.map(lengthsOf));
    case 'choice': {
      const all = node.alternatives.map(lengthsOf);
      return {
        min: Math.min(...all.map(({ min }) => min)),
        max: Math.max(...all.map(({ max }) => max)),
      };
    }
    case 'repeat': {
      const { min, max } = lengthsOf(node.item);
      return { min: min * node.min, max: max === 0 ? 0 : max * (node.max ?? Infinity) };
    }
  }
}

/**
 * A tree that matches only texts of `min` to `max` characters, each of which `node` matches. All of them
 * where one part alone varies; where several do, each gets its share of the characters.
 * @param max may be Infinity
 * @returns null where no such tree was found
 */
export function withLengths(node: RegexNode, min: number, max: number): RegexNode | null {
  const own = lengthsOf(node);
  if (own.min >= min && own.max <= max) return node;
  if (own.min > max || own.max < min) return null;
  switch (node.kind) {
    case 'text':
    case 'class':
      return null;
    case 'sequence':
      return sequenceWithin(node.items, min, max);
    case 'choice': {
      const alternatives = node.alternatives
        .map((each) => withLengths(each, min, max))
        .filter((each) => each !== null);
      return alternatives.length === 0 ? null : { kind: 'choice', alternatives };
    }
    case 'repeat':
      return repeatWithin(node, min, max);
  }
}

/**
 * The bounds of all texts' characters, and the tree without them, where they can be counted from the
 * first character on: a set of characters is repeated after a fixed number of others. Null elsewhere.
 */
export function countableEnd(node: RegexNode): CountableEnd | null {
  const items = node.kind === 'sequence' ? node.items : [node];
  const last = items.at(-1);
  if (last?.kind !== 'repeat' || last.item.kind !== 'class') return null;
  const before = items.slice(0, -1);
  const { min, max } = sumOf(before.map(lengthsOf));
  if (min !== max) return null;
  const bounds: Bounds = [min + last.min, last.max === null ? null : min + last.max];
  return { before: { kind: 'sequence', items: before }, repeated: last.item, bounds };
}

export interface CountableEnd {
  readonly before: RegexNode;
  readonly repeated: Extract<RegexNode, { kind: 'class' }>;
  readonly bounds: Bounds;
}

function sumOf(all: readonly Lengths[]): Lengths {
  return {
    min: all.reduce((sum, { min }) => sum + min, 0),
    max: all.reduce((sum, { max }) => sum + max, 0),
  };
}

function sequenceWithin(items: readonly RegexNode[], min: number, max: number): RegexNode | null {
  const own = items.map(lengthsOf);
  const least = sumOf(own).min;
  const caps = spread(
    max - least,
    own.map((each) => each.max - each.min),
  ).map((more, index) => (own[index]?.min ?? 0) + more);
  const floors = spread(
    Math.max(0, min - least),
    caps.map((cap, index) => cap - (own[index]?.min ?? 0)),
  ).map((more, index) => (own[index]?.min ?? 0) + more);
  const fitted = items
    .map((item, index) => withLengths(item, floors[index] ?? 0, caps[index] ?? 0))
    .filter((item) => item !== null);
  if (fitted.length < items.length) return null;
  return { kind: 'sequence', items: fitted };
}

/** Parts of `total`, as even as the rooms allow, whole numbers, in sum no more than it. */
function spread(total: number, rooms: readonly number[]): number[] {
  const parts = rooms.map(() => 0);
  const order = rooms
    .map((_, index) => index)
    .toSorted((a, b) => (rooms[a] ?? 0) - (rooms[b] ?? 0));
  let left = total;
  for (const [position, index] of order.entries()) {
    const share = Math.ceil(left / (order.length - position));
    const part = Math.min(rooms[index] ?? 0, share);
    parts[index] = part;
    if (left !== Infinity) left -= part;
  }
  return parts;
}

function repeatWithin(node: Repetition, min: number, max: number): RegexNode | null {
  const times = timesWithin(node, max);
  const cap = max === Infinity ? Infinity : Math.floor(max / times);
  const item = withLengths(node.item, 0, cap);
  if (item === null) return node.min === 0 && min === 0 ? { kind: 'sequence', items: [] } : null;
  const shortest = lengthsOf(item).min;
  const enough = min === 0 ? 0 : shortest === 0 ? Infinity : Math.ceil(min / shortest);
  if (enough < Infinity && enough <= times) {
    const most = times === Infinity ? null : times;
    return { kind: 'repeat', item, min: Math.max(node.min, enough), max: most };
  }
  // As often as it may be, and each time long enough.
  const number = times === Infinity ? Math.max(1, node.min) : times;
  const longer = withLengths(item, Math.ceil(min / number), cap);
  return longer === null ? null : { kind: 'repeat', item: longer, min: number, max: number };
}

/** How often to repeat an item at most: as often as it is sure to fit, or about as often as it is long. */
function timesWithin({ item, min, max: allowed }: Repetition, max: number): number {
  if (max === Infinity) return allowed ?? Infinity;
  const own = lengthsOf(item);
  const atLeast = Math.max(1, min);
  const sure = Math.floor(max / own.max);
  const balanced = Math.floor(Math.sqrt(max / Math.max(1, own.min)));
  return Math.min(allowed ?? Infinity, Math.max(atLeast, sure >= atLeast ? sure : balanced));
}
