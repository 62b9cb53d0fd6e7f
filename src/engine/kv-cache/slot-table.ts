import type { Sequence } from '../sequence.ts';
import type { Span } from '../timed-run.ts';
import type { CacheOperation, Segment } from '../step.ts';

/** What a decoder over slots asks the bookkeeping when it lays a step out. */
export interface SlotTable {
  ownerOf(slot: number): Sequence | null;
  /** Memory for `length` positions of the sequence's slot; false when there is none. */
  grow(sequence: Sequence, length: number): boolean;
  /** What growing did to the memory, to be done before anything runs. */
  drainOperations(): CacheOperation[];
}

/**
 * One slot of a decode run. A slot without a segment is dead: it is between others, so it is
 * computed too, and writes its token to `start`, where nothing is kept.
 */
export interface DecodeSlot extends Span {
  readonly segment: Segment | null;
}

/**
 * A decode run takes one token of each slot from slot 0 on.
 * @param table null where nothing is known of the slots between others
 * @returns the run, and the segments that can't be in it
 */
export function layOutDecode(
  segments: readonly Segment[],
  table: SlotTable | null,
): { readonly run: readonly DecodeSlot[]; readonly others: readonly Segment[] } {
  const numSlots = segments.reduce((end, { sequence }) => Math.max(end, sequence.slot + 1), 0);
  if (table === null && numSlots > segments.length) return { run: [], others: segments };
  const bySlot: (Segment | undefined)[] = [];
  for (const segment of segments) bySlot[segment.sequence.slot] = segment;
  const run = Array.from({ length: numSlots }, (_, slot): DecodeSlot => {
    const segment = bySlot[slot] ?? null;
    // A dead slot's token goes where its owner's next chunk is written anyway.
    const start = segment?.start ?? table?.ownerOf(slot)?.numComputedTokens ?? 0;
    return { segment, start, length: 1 };
  });
  return { run, others: [] };
}
