import type { Cell } from './cell.ts';
import { visibleColumns } from './painter.ts';
import type { Timeline } from './timeline.ts';
import { cellBox, isLaneVisible, type Viewport } from './viewport.ts';

/** A cell as it is on the canvas, for tests. */
export interface DrawnCell extends Omit<Cell, 'start' | 'pages'> {
  readonly step: number;
  readonly box: ReturnType<typeof cellBox>;
}

/** The canvas, with what is drawn on it. */
export interface LanesCanvas extends HTMLCanvasElement {
  drawnCells?: () => DrawnCell[];
}

export function drawnCells(timeline: Timeline, view: Viewport): DrawnCell[] {
  return visibleColumns(timeline, view).flatMap(({ index, event, cells }) =>
    cells
      .filter(({ slot }) => isLaneVisible(view, slot))
      .map(({ start: _start, pages: _pages, ...cell }) => ({
        step: event.step,
        ...cell,
        box: cellBox(view, index, cell),
      })),
  );
}
