/** Pages from `start` up to, and without, `end`. */
export type PageRange = readonly [start: number, end: number];

/** In order, apart from each other, none empty. */
export type PageRanges = readonly PageRange[];

/** Pages in both. */
export function intersect(a: PageRanges, b: PageRanges): PageRanges {
  const both: PageRange[] = [];
  for (const [start, end] of a) {
    for (const [from, to] of b) {
      const [first, last] = [Math.max(start, from), Math.min(end, to)];
      if (first < last) both.push([first, last]);
    }
  }
  return both;
}

/** Pages in `a` and not in `b`. */
export function subtract(a: PageRanges, b: PageRanges): PageRanges {
  const gaps: PageRange[] = [];
  let from = 0;
  for (const [start, end] of b) {
    if (start > from) gaps.push([from, start]);
    from = end;
  }
  gaps.push([from, Infinity]);
  return intersect(a, gaps);
}

/** Pages in any of them, which may overlap. */
export function union(...all: readonly PageRanges[]): PageRanges {
  const merged: PageRange[] = [];
  for (const [start, end] of all.flat().toSorted(([a], [b]) => a - b)) {
    const last = merged.at(-1);
    if (last === undefined || start > last[1]) merged.push([start, end]);
    else if (end > last[1]) merged[merged.length - 1] = [last[0], end];
  }
  return merged;
}
