/** Choice of the models to unload when another one has no room. */

export interface Room {
  /** Models that may be loaded at once. */
  readonly maxModels: number;
  /** Bytes that all of them may take. */
  readonly maxBytes: number;
}

export interface Resident {
  readonly bytes: number;
  /** When its last use ended; null for one that can't go: in use, being loaded or stopped. */
  readonly idleSince: number | null;
}

export type RoomPlan<R> =
  | { readonly kind: 'fits'; readonly evicted: readonly R[] }
  /** Until a busy one has become idle. */
  | { readonly kind: 'wait' }
  | { readonly kind: 'never' };

/**
 * Makes room for one more: the model that has been idle for longest goes first, busy ones stay.
 * @param residents all that take memory
 * @param bytes that the new one takes
 */
export function makeRoom<R extends Resident>(
  { maxModels, maxBytes }: Room,
  residents: readonly R[],
  bytes: number,
): RoomPlan<R> {
  if (bytes > maxBytes) return { kind: 'never' };
  const idle = residents
    .filter(({ idleSince }) => idleSince !== null)
    .toSorted((a, b) => (a.idleSince ?? 0) - (b.idleSince ?? 0));
  let numModels = residents.length + 1;
  let total = residents.reduce((sum, resident) => sum + resident.bytes, bytes);
  const evicted: R[] = [];
  const isOver = () => numModels > maxModels || total > maxBytes;
  for (const resident of idle) {
    if (!isOver()) break;
    evicted.push(resident);
    numModels--;
    total -= resident.bytes;
  }
  return isOver() ? { kind: 'wait' } : { kind: 'fits', evicted };
}
