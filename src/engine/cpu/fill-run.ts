import type { DecodeSlot } from '../kv-cache/slot-table.ts';
import type { Segment } from '../step.ts';
import { takesLikeliest } from '../logits-use.ts';
import type { SlotGroup } from './slot-group.ts';
import type { SlotRun } from './slot-layout.ts';
import { widthOf } from './slot-layout.ts';

/** A segment whose logits are wanted, and the places of those tokens among the run's. */
export interface WantedLogits {
  readonly segment: Segment;
  readonly places: readonly number[];
}

/** Whether anything is read of a run's logits but which one is the highest. */
export function readsLogits(wanted: readonly WantedLogits[]): boolean {
  return wanted.some(({ segment }) => !takesLikeliest(segment.sequence));
}

/** Fills in one token for each of the group's slots. */
export function fillDecode(group: SlotGroup, run: readonly DecodeSlot[]): WantedLogits[] {
  group.begin(1);
  const wanted: WantedLogits[] = [];
  for (const [place, { segment, start }] of run.entries()) {
    group.setLength(place, start + 1);
    if (segment === null) continue;
    group.write(segment, place);
    wanted.push({ segment, places: [place] });
  }
  return wanted;
}

/** Fills in segments of neighbouring slots, padded to `width`. @param firstPlace of their tokens */
export function fillSegments(
  group: SlotGroup,
  run: SlotRun,
  width: number,
  firstPlace = 0,
): WantedLogits[] {
  const longest = widthOf(run);
  group.begin(width);
  const wanted: WantedLogits[] = [];
  for (const [index, segment] of run.entries()) {
    const { start, numTokens, numLogits } = segment;
    const first = index * width;
    group.write(segment, first);
    // A run's longest segment has all of its tokens.
    group.setLength(index, start + (numTokens === longest ? width : numTokens));
    if (numLogits === 0) continue;
    const firstWanted = firstPlace + first + numTokens - numLogits;
    const places = Array.from({ length: numLogits }, (_, at) => firstWanted + at);
    wanted.push({ segment, places });
  }
  return wanted;
}

/** Owners of a decode run's tokens. */
export function ownersOf(decode: readonly DecodeSlot[]) {
  return decode.map(({ segment }) => segment ?? undefined);
}

/** Owners of the tokens of segments that are padded to `width`. */
export function paddedOwners(run: SlotRun, width: number): Segment[] {
  return run.flatMap((segment) => Array.from({ length: width }, () => segment));
}
