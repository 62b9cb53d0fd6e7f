import type { Sequence } from '../sequence.ts';
import type { Span } from '../timed-run.ts';
import type { CacheOperation } from '../cache-operation.ts';
import type { Segment } from '../step.ts';

/** The slot bookkeeping as a decoder sees it when it lays out a step. */
export interface SlotTable {
  ownerOf(slot: number): Sequence | null;
  /** Reserves memory for `length` positions of the sequence's slot; false if there is not enough. */
  grow(sequence: Sequence, length: number): boolean;
  /** Memory operations that growing caused, to be done before anything runs. */
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
