/**
 * Positions of models whose tokens have three, of frames, rows and columns of images (M-RoPE). They are a
 * function of the prompt alone, so that chunks, recovery and prefixes of others' need no word about them.
 */
import type { EngineRequest } from './request.ts';

/**
 * Writes those of a request's tokens. A text counts on, whatever its axis; an image begins where the text
 * before it ended, and the text after it where its longer side does.
 * @param into one array for each axis
 * @param at where that of the first goes in each
 * @param start index of the first token in the prompt and what follows it
 */
export function fillImagePositions(
  into: readonly BigInt64Array[],
  at: number,
  { embeddings = [] }: Pick<EngineRequest, 'embeddings'>,
  start: number,
  numTokens: number,
): void {
  const end = start + numTokens;
  /** Position of the next text, less the number of tokens before it. */
  let offset = 0;
  let index = start;
  const write = (frame: number, row: number, column: number): void => {
    for (const [axis, value] of [frame, row, column].entries()) {
      const positions = into[axis];
      if (positions) positions[at + index - start] = BigInt(offset + value);
    }
    index++;
  };
  const writeText = (to: number): void => {
    while (index < Math.min(to, end)) write(index, index, index);
  };
  for (const { start: first, grid } of embeddings) {
    if (grid === undefined) continue;
    if (first >= end) break;
    const { height, width } = grid;
    const after = first + height * width;
    writeText(first);
    while (index < Math.min(after, end)) {
      const place = index - first;
      write(first, first + Math.floor(place / width), first + (place % width));
    }
    offset += Math.max(height, width) - height * width;
  }
  writeText(end);
}
