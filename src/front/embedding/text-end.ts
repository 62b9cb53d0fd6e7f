import type { TextEnd } from '../../model/encoder/text-part.ts';

/** A text's tokens as a tower reads them, whose vector is that of the last. @param ids at least one */
export function withEnd(ids: Int32Array, end: TextEnd, padTokenId: number): Int32Array {
  if (end.type === 'padded') {
    const padded = new Int32Array(Math.max(end.length, ids.length)).fill(padTokenId);
    padded.set(ids);
    return padded;
  }
  const { eosTokenId } = end;
  // As Transformers finds it: without one, the first token is taken.
  const place = eosTokenId === null ? placeOfHighest(ids) : Math.max(0, ids.indexOf(eosTokenId));
  return ids.slice(0, place + 1);
}

function placeOfHighest(ids: Int32Array): number {
  let highest = 0;
  for (const [place, id] of ids.entries()) if (id > (ids[highest] ?? 0)) highest = place;
  return highest;
}
