/** Looks of a cell. Kinds differ in shape and lightness too, not in hue alone. */
import type { Cell } from './cell.ts';

export const MARKS = [
  'prefill',
  'cached',
  'decode',
  'accepted',
  'rejected',
  'grammar',
  'held',
  'failed',
  'kept',
  'memory',
  'class',
] as const;

/** A fill. `memory` and `class` are why a request gave up its slot. */
export type Mark = (typeof MARKS)[number];

/** Draws one rectangle, in pixels of the device. */
export type DrawMark = (mark: Mark, x: number, y: number, width: number, height: number) => void;

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export function drawCell(cell: Cell, { x, y, width, height }: Box, draw: DrawMark): void {
  const middle = y + Math.floor(height / 2);
  const half = Math.max(1, Math.ceil(height / 2));
  const line = Math.max(1, Math.round(height / 8));
  switch (cell.work) {
    case 'prefill':
      // Tokens found in the cache are below, in proportion.
      drawPrompt(cell, { x, y, width, height }, draw);
      break;
    case 'decode':
      // A bar as high as half of its lane.
      draw('decode', x, y + Math.floor((height - half) / 2), width, half);
      break;
    case 'verify': {
      // Its own token below; above it the draft: what came true is full, the rest a line.
      const kept = Math.round((width * cell.accepted) / Math.max(1, cell.drafted));
      draw('decode', x, middle, width, y + height - middle);
      if (kept > 0) draw('accepted', x, y, kept, middle - y);
      if (kept < width) draw('rejected', x + kept, y, width - kept, line);
      break;
    }
    case 'grammar':
      frame('grammar', { x, y, width, height }, line, draw);
      break;
    case 'held':
      draw('held', x, middle, width, line);
      break;
    case 'failed':
      // Two bars and a gap.
      draw('failed', x, y, width, Math.max(1, Math.floor(height / 3)));
      draw(
        'failed',
        x,
        y + height - Math.max(1, Math.floor(height / 3)),
        width,
        Math.max(1, Math.floor(height / 3)),
      );
      break;
    case 'kept':
      // Dots at the bottom.
      draw('kept', x, y + height - line, Math.max(1, Math.floor(width / 2)), line);
      break;
  }
}

/** At the edge of the step for which a request gave up its slot: a bar, with a foot or a head. */
export function drawSentBack(why: 'memory' | 'class', box: Box, draw: DrawMark): void {
  const { x, y, width, height } = box;
  const line = Math.max(1, Math.round(Math.min(width, height) / 5));
  const foot = Math.max(line, Math.floor(width / 2));
  draw(why, x, y, line, height);
  draw(why, x, why === 'memory' ? y + height - line : y, foot, line);
}

function drawPrompt(
  { cached, computed }: Cell,
  { x, y, width, height }: Box,
  draw: DrawMark,
): void {
  const share = cached / Math.max(1, cached + computed);
  const low = cached === 0 ? 0 : Math.min(height - 1, Math.max(1, Math.round(height * share)));
  draw('prefill', x, y, width, height - low);
  // In stripes, from the bottom up.
  const line = Math.max(1, Math.round(height / 8));
  for (let from = line; from <= low || from === line; from += 2 * line) {
    if (low > 0) draw('cached', x, y + height - Math.min(from, low), width, Math.min(line, low));
  }
}

function frame(mark: Mark, { x, y, width, height }: Box, line: number, draw: DrawMark): void {
  draw(mark, x, y, width, line);
  draw(mark, x, y + height - line, width, line);
  if (width <= 3 * line) return;
  draw(mark, x, y, line, height);
  draw(mark, x + width - line, y, line, height);
}
