import type { Sequence } from '../../sequence.ts';
import type { StepPlan } from '../../step.ts';

/** What a step computes of one sequence, on top of what the cache holds of it. */
export interface Segment {
  readonly sequence: Sequence;
  /** Positions that the cache holds. */
  readonly start: number;
  readonly tokenIds: Int32Array;
  /** The last so many tokens' logits are wanted, at least 1. */
  readonly numWanted: number;
  readonly kind: 'decode' | 'prefill' | 'verify';
}

/** The inputs of a run of the paged decoder graph: all segments' tokens one after the other. */
export interface PagedBatch {
  /** [tokens] */
  readonly tokenIds: Int32Array;
  /** [segments + 1]: where each segment begins among the tokens, and where the last one ends. */
  readonly cumulativeLengths: Int32Array<ArrayBuffer>;
  /** [segments] */
  readonly pastLengths: Int32Array<ArrayBuffer>;
  /** [segments, tableWidth]: each sequence's blocks; behind its last one any. */
  readonly blockTable: Int32Array<ArrayBuffer>;
  readonly tableWidth: number;
  /** [wanted]: which of the tokens' logits are wanted. */
  readonly logitsIndex: Int32Array;
  /** Tokens of the longest segment. */
  readonly maxQueryLength: number;
  /** Positions of the longest sequence after the run. */
  readonly maxTotalLength: number;
}

/** All that a plan computes. Rows of the decode run that are dead have no place in it. */
export function segmentsOf({ decode, prefill, verify = [] }: StepPlan): Segment[] {
  return [
    ...decode.flatMap(({ sequence, position: start }): Segment[] => {
      if (!sequence) return [];
      const tokenIds = sequence.tokenIds(start, start + 1);
      return [{ sequence, start, tokenIds, numWanted: 1, kind: 'decode' }];
    }),
    ...prefill.flat().map(({ sequence, start, length }): Segment => {
      const tokenIds = sequence.tokenIds(start, start + length);
      return { sequence, start, tokenIds, numWanted: 1, kind: 'prefill' };
    }),
    ...verify.map(({ sequence, draftTokenIds }): Segment => {
      const tokenIds = Int32Array.of(sequence.lastTokenId, ...draftTokenIds);
      const start = sequence.numComputedTokens;
      return { sequence, start, tokenIds, numWanted: tokenIds.length, kind: 'verify' };
    }),
  ];
}

/** @throws RangeError when a sequence has too few blocks for its tokens */
export function packSegments(segments: readonly Segment[], blockSize: number): PagedBatch {
  const lengths = segments.map(({ tokenIds }) => tokenIds.length);
  const totals = segments.map(({ start, tokenIds }) => start + tokenIds.length);
  const tableWidth = Math.ceil(Math.max(...totals) / blockSize);
  const cumulativeLengths = new Int32Array(segments.length + 1);
  for (const [index, length] of lengths.entries()) {
    cumulativeLengths[index + 1] = (cumulativeLengths[index] ?? 0) + length;
  }
  const tokenIds = new Int32Array(cumulativeLengths.at(-1) ?? 0);
  const blockTable = new Int32Array(segments.length * tableWidth);
  const logitsIndex: number[] = [];
  for (const [index, segment] of segments.entries()) {
    const { id, blockTable: blocks } = segment.sequence;
    const end = cumulativeLengths[index + 1] ?? 0;
    const numBlocks = Math.ceil((totals[index] ?? 0) / blockSize);
    if (blocks.length < numBlocks) {
      throw new RangeError(`sequence ${id} has ${blocks.length} blocks and needs ${numBlocks}`);
    }
    tokenIds.set(segment.tokenIds, cumulativeLengths[index]);
    blockTable.set(blocks.slice(0, numBlocks), index * tableWidth);
    for (let place = end - segment.numWanted; place < end; place++) logitsIndex.push(place);
  }
  return {
    tokenIds,
    cumulativeLengths,
    pastLengths: Int32Array.from(segments, ({ start }) => start),
    blockTable,
    tableWidth,
    logitsIndex: Int32Array.from(logitsIndex),
    maxQueryLength: Math.max(...lengths),
    maxTotalLength: Math.max(...totals),
  };
}
