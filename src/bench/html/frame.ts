/** The rectangle of a plot, with its grid and axes. */
import { escapeHtml } from './escape.ts';
import { formatTick, type Scale } from './scale.ts';

const MARGIN = { top: 14, right: 18, bottom: 40, left: 62 } as const;

/** In pixels. */
export interface Frame {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Area inside the axes of an image of that size. */
export function frameOf(width: number, height: number): Frame {
  return {
    left: MARGIN.left,
    right: width - MARGIN.right,
    top: MARGIN.top,
    bottom: height - MARGIN.bottom,
  };
}

/** Lines at all ticks, with their values. */
export function grid(x: Scale, y: Scale, { left, right, top, bottom }: Frame): string {
  const rows = y.ticks.map((tick) => {
    const at = round(y.at(tick));
    const label = `<text class="tick" x="${left - 8}" y="${at + 4}" text-anchor="end">${formatTick(tick)}</text>`;
    return `<line class="grid" x1="${left}" x2="${right}" y1="${at}" y2="${at}"/>${label}`;
  });
  const columns = x.ticks.map((tick) => {
    const at = round(x.at(tick));
    const label = `<text class="tick" x="${at}" y="${bottom + 17}" text-anchor="middle">${formatTick(tick)}</text>`;
    return `<line class="grid" x1="${at}" x2="${at}" y1="${top}" y2="${bottom}"/>${label}`;
  });
  const base = `<line class="axis" x1="${left}" x2="${right}" y1="${bottom}" y2="${bottom}"/>`;
  return [...rows, ...columns, base].join('');
}

/** Labels of the axes; `height` is that of the image. */
export function axisLabels(
  { xLabel, yLabel }: { readonly xLabel: string; readonly yLabel: string },
  frame: Frame,
  height: number,
): string {
  const x = (frame.left + frame.right) / 2;
  const y = (frame.top + frame.bottom) / 2;
  return (
    `<text class="label" x="${x}" y="${height - 5}" text-anchor="middle">${escapeHtml(xLabel)}</text>` +
    `<text class="label" transform="translate(13 ${y}) rotate(-90)" text-anchor="middle">${escapeHtml(yLabel)}</text>`
  );
}

/** To a tenth of a pixel. */
export function round(value: number): number {
  return Math.round(value * 10) / 10;
}
