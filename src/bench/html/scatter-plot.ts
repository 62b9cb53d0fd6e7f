import { escapeHtml } from './escape.ts';
import { type Frame, frameOf, grid, axisLabels, round } from './frame.ts';
import { formatTick, linearScale, logScale, rangeScale } from './scale.ts';

/** A disk: its place shows two values, its area a third one. */
export interface Bubble {
  readonly label: string;
  readonly x: number;
  readonly y: number;
  readonly area: number;
  /** Text shown for it in addition to its label, where the pointer is. */
  readonly tip: string;
  /** Drawn as a ring: it is not quite like the others. */
  readonly isHollow?: boolean;
}

export interface ScatterSpec {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly bubbles: readonly Bubble[];
  readonly xScale?: 'linear' | 'log';
  /** Values of y far above all others are drawn at the top, with the value in their label. */
  readonly clipsTop?: boolean;
  readonly width?: number;
  readonly height?: number;
}

/** Radius of the largest disk, in pixels; no disk is smaller than `LEAST_RADIUS`. */
const MOST_RADIUS = 22;
const LEAST_RADIUS = 3;
/** Least share of an axis that all values but the largest should have. */
const LEAST_SPAN = 0.1;
/** Between the lines of labels. */
const LINE_HEIGHT = 13;
/** About that of a character. */
const CHARACTER_WIDTH = 6;

/** A plot of disks with their names next to them, as a figure with an inline SVG. */
export function scatterPlot(spec: ScatterSpec): string {
  const { width = 580, height = 360, title, bubbles, clipsTop = false } = spec;
  const frame = frameOf(width, height);
  const x = xScaleOf(spec, frame);
  const values = bubbles.map((bubble) => bubble.y);
  const most = clipsTop ? mostShown(values) : Math.max(...values);
  const y = rangeScale(
    values.filter((value) => value <= most),
    [frame.bottom - MOST_RADIUS, frame.top + MOST_RADIUS],
  );
  const mostArea = Math.max(...bubbles.map(({ area }) => area));
  // Large ones first: small ones stay visible on them.
  const places = bubbles
    .toSorted((a, b) => b.area - a.area)
    .map((bubble) => ({
      bubble,
      isClipped: bubble.y > most,
      x: round(x.at(bubble.x)),
      y: bubble.y > most ? frame.top : round(y.at(bubble.y)),
      radius: round(Math.max(LEAST_RADIUS, MOST_RADIUS * Math.sqrt(bubble.area / mostArea))),
    }));
  const svg = [
    `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeHtml(title)}">`,
    grid(x, y, frame),
    axisLabels(spec, frame, height),
    ...places.map((place) => disk(place)),
    ...placeLabels(places, frame).map(({ place, ...at }) => labelAt(labelOf(place), at)),
    '</svg>',
  ].join('\n');
  return `<figure><figcaption>${escapeHtml(title)}</figcaption>${svg}</figure>`;
}

interface Place {
  readonly bubble: Bubble;
  readonly isClipped: boolean;
  readonly x: number;
  readonly y: number;
  readonly radius: number;
}

interface LabelPlace {
  readonly place: Place;
  readonly x: number;
  readonly y: number;
  readonly anchor: 'start' | 'end';
}

function xScaleOf({ bubbles, xScale = 'linear' }: ScatterSpec, { left, right }: Frame) {
  const values = bubbles.map(({ x }) => x);
  const most = Math.max(...values);
  // Room for the disk of the last value, and on a log scale of the first one.
  if (xScale === 'linear') return linearScale(most * 1.08, [left, right], { endsAtTick: false });
  return logScale(Math.min(...values) / 1.3, most * 1.3, [left, right]);
}

/**
 * The largest of the values that an axis should reach: without those that leave the others a tenth of it,
 * as long as that is a third of them at most.
 */
export function mostShown(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const span = (count: number) => (sorted[count - 1] ?? 0) - (sorted[0] ?? 0);
  let shown = sorted.length;
  for (let count = shown - 1; count >= (2 / 3) * sorted.length; count--) {
    if (span(count) <= LEAST_SPAN * span(shown)) shown = count;
  }
  return sorted[shown - 1] ?? 0;
}

function labelOf({ bubble, isClipped }: Place): string {
  return isClipped ? `${bubble.label}: ${formatTick(bubble.y)} \u2191` : bubble.label;
}

function disk({ bubble, x, y, radius }: Place): string {
  const kind = bubble.isHollow === true ? 'disk hollow' : 'disk';
  const tip = escapeHtml(`${bubble.label}: ${bubble.tip}`);
  return `<circle class="${kind}" cx="${x}" cy="${y}" r="${radius}"><title>${tip}</title></circle>`;
}

/**
 * Labels next to the disks, on the side with room; from top to bottom, each below those it would cover.
 */
function placeLabels(places: readonly Place[], { right }: Frame): LabelPlace[] {
  const labels: (LabelPlace & { readonly from: number; readonly to: number })[] = [];
  for (const place of places.toSorted((a, b) => a.y - b.y)) {
    const length = labelOf(place).length * CHARACTER_WIDTH;
    const isLeft = place.x + place.radius + 4 + length > right;
    const x = round(isLeft ? place.x - place.radius - 4 : place.x + place.radius + 4);
    const [from, to] = isLeft ? [x - length, x] : [x, x + length];
    const covered = labels.filter((label) => label.from < to && from < label.to);
    const lowest = Math.max(-Infinity, ...covered.map((label) => label.y));
    const y = round(Math.max(place.y + 4, lowest + LINE_HEIGHT));
    labels.push({ place, x, y, anchor: isLeft ? 'end' : 'start', from, to });
  }
  return labels;
}

function labelAt(text: string, { x, y, anchor }: Omit<LabelPlace, 'place'>): string {
  return `<text class="marker-label" x="${x}" y="${y}" text-anchor="${anchor}">${escapeHtml(text)}</text>`;
}
