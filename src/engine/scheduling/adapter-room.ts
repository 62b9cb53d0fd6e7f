import type { Sequence } from '../sequence.ts';

/** Whether a sequence's adapter runs, or one more may. */
export function fitsAdapters(
  { request: { adapter } }: Sequence,
  running: readonly Sequence[],
  { maxAdapters = Infinity }: { readonly maxAdapters?: number },
): boolean {
  if (!adapter || maxAdapters === Infinity) return true;
  const active = new Set(running.map(({ request }) => request.adapter?.id));
  active.delete(undefined);
  return active.has(adapter.id) || active.size < maxAdapters;
}
