import { type Segment, tokenIdsOf } from '../../step.ts';

/** The inputs of a run of the paged decoder graph: all segments' tokens one after the other. */
export interface PagedBatch {
  /** [tokens] */
  readonly tokenIds: Int32Array;
  /** [segments + 1]: where each segment begins among the tokens, and where the last one ends. */
  readonly cumulativeLengths: Int32Array<ArrayBuffer>;
  /** [segments] */
  readonly pastLengths: Int32Array<ArrayBuffer>;
  /** [segments, tableWidth]: each sequence's pages; after its last one any. */
  readonly pageTable: Int32Array<ArrayBuffer>;
  readonly tableWidth: number;
  /** [wanted]: which of the tokens' logits are wanted, in the order of the segments. */
  readonly logitsIndex: Int32Array;
  /** Tokens of the longest segment. */
  readonly maxQueryLength: number;
  /** Positions of the longest sequence after the run. */
  readonly maxTotalLength: number;
}

/** @throws RangeError when a sequence has too few pages for its tokens */
export function packSegments(segments: readonly Segment[], pageLength: number): PagedBatch {
  const lengths = segments.map(({ numTokens }) => numTokens);
  const totals = segments.map(({ start, numTokens }) => start + numTokens);
  const tableWidth = Math.ceil(Math.max(...totals) / pageLength);
  const cumulativeLengths = new Int32Array(segments.length + 1);
  for (const [index, length] of lengths.entries()) {
    cumulativeLengths[index + 1] = (cumulativeLengths[index] ?? 0) + length;
  }
  const tokenIds = new Int32Array(cumulativeLengths.at(-1) ?? 0);
  const pageTable = new Int32Array(segments.length * tableWidth);
  const logitsIndex: number[] = [];
  for (const [index, segment] of segments.entries()) {
    const { id, pageTable: pages } = segment.sequence;
    const end = cumulativeLengths[index + 1] ?? 0;
    const numPages = Math.ceil((totals[index] ?? 0) / pageLength);
    if (pages.length < numPages) {
      throw new RangeError(`sequence ${id} has ${pages.length} pages and needs ${numPages}`);
    }
    tokenIds.set(tokenIdsOf(segment), cumulativeLengths[index]);
    pageTable.set(pages.slice(0, numPages), index * tableWidth);
    for (let place = end - segment.numLogits; place < end; place++) logitsIndex.push(place);
  }
  // No graph is made for a run without logits: the first token's are computed and not read.
  if (logitsIndex.length === 0) logitsIndex.push(0);
  return {
    tokenIds,
    cumulativeLengths,
    pastLengths: Int32Array.from(segments, ({ start }) => start),
    pageTable,
    tableWidth,
    logitsIndex: Int32Array.from(logitsIndex),
    maxQueryLength: Math.max(...lengths),
    maxTotalLength: Math.max(...totals),
  };
}
