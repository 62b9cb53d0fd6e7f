import type { Sequence } from '../sequence.ts';

/** Puts it after those that precede it. */
export function insertInOrder(sequences: Sequence[], sequence: Sequence): void {
  const after = sequences.findLastIndex((other) => precedes(other, sequence));
  sequences.splice(after + 1, 0, sequence);
}

/** If two arrived at the same time, the one with the lower id goes first. */
function precedes(a: Sequence, b: Sequence): boolean {
  return a.order < b.order || (a.order === b.order && a.id < b.id);
}
