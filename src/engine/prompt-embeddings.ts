/**
 * Embeddings that stand in for tokens of a prompt. At their positions a prompt has ids below 0, drawn from
 * what the embeddings were made of: equal ids mean equal embeddings, so that block hashes and comparisons
 * of prefixes need to know no more.
 */
import { areFinite } from '../model/huggingface/finite.ts';
import type { EmbeddingGrid, EngineRequest } from './request.ts';

/** Ids in a row that prove embeddings equal: fewer than 124 bits may agree by chance, or by search. */
const NUM_PROVING = 4;

/** Whether an id of a prompt stands for an embedding: it is none of the vocabulary's. */
export function isEmbedding(id: number): boolean {
  return id < 0;
}

/**
 * Leading ids that another text shares for certain.
 * @param length of those that are equal
 */
export function provenLength(tokenIds: Int32Array, length: number): number {
  let first = length;
  while (length - first < NUM_PROVING && isEmbedding(tokenIds[first - 1] ?? 0)) first--;
  return length - first < NUM_PROVING ? first : length;
}

/** Rows of embeddings at consecutive positions of a prompt. */
export interface EmbeddedPart {
  readonly start: number;
  /** [positions, width] */
  readonly rows: Float32Array;
}

/** The embeddings of a request from position `start` to `end` (exclusive). */
export function embeddedParts(
  { embeddings = [] }: Pick<EngineRequest, 'embeddings'>,
  start: number,
  end: number,
  width: number,
): EmbeddedPart[] {
  return embeddings.flatMap(({ start: first, rows }) => {
    const from = Math.max(start, first);
    const to = Math.min(end, first + rows.length / width);
    const part = rows.subarray((from - first) * width, (to - first) * width);
    return from < to ? [{ start: from, rows: part }] : [];
  });
}

/**
 * Where a run that computes a prompt from `start` on may end, at most at `end` if there is progress: the tokens of an
 * image whose attention is not causal are computed together, since each one's keys and values depend on all of
 * them. A run may begin within such an image, once all of it was computed.
 */
export function endOfRun(
  { embeddings = [] }: Pick<EngineRequest, 'embeddings'>,
  start: number,
  end: number,
): number {
  for (const { start: first, attentionEnd = first } of embeddings) {
    if (first < end && end < attentionEnd) return start < first ? first : attentionEnd;
  }
  return end;
}

/**
 * @param width of the model's embeddings; null if it takes none
 * @throws RangeError unless a prompt's embeddings are whole rows of finite numbers, in order, and exactly
 *   where its ids say so
 */
export function requireEmbeddings(
  { promptTokenIds, embeddings = [] }: Pick<EngineRequest, 'promptTokenIds' | 'embeddings'>,
  width: number | null,
): void {
  let numTold = 0;
  for (const id of promptTokenIds) if (isEmbedding(id)) numTold++;
  if (embeddings.length === 0 && numTold === 0) return;
  if (width === null) throw new RangeError('the model takes no embeddings in place of tokens');
  let end = 0;
  let numGiven = 0;
  for (const { start, rows, grid, attentionEnd } of embeddings) {
    const length = rows.length / width;
    if (!Number.isInteger(length) || length === 0) {
      throw new RangeError(`${rows.length} numbers are no whole rows of ${width}`);
    }
    if (grid && !isGridOf(grid, length)) {
      throw new RangeError(
        `${length} embeddings are no ${grid.height} x ${grid.width} of an image`,
      );
    }
    if (!Number.isInteger(start) || start < end) {
      throw new RangeError(`embeddings at position ${start} are out of order`);
    }
    end = start + length;
    numGiven += length;
    if ((attentionEnd ?? end) !== end) {
      throw new RangeError(`attention of the embeddings up to ${end} ends at ${attentionEnd}`);
    }
    if (end > promptTokenIds.length || !promptTokenIds.subarray(start, end).every(isEmbedding)) {
      throw new RangeError(`embeddings at position ${start} are where the prompt has tokens`);
    }
    if (!areFinite(rows, 'F32'))
      throw new RangeError('an embedding has a number that is not finite');
  }
  if (numGiven < numTold) throw new RangeError('an embedding of the prompt is missing');
}

function isGridOf({ height, width }: EmbeddingGrid, length: number): boolean {
  return (
    Number.isInteger(height) && Number.isInteger(width) && height > 0 && height * width === length
  );
}
