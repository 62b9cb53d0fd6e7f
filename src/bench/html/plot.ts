import { escapeHtml } from './escape.ts';
import { axisLabels, type Frame, frameOf, grid, round } from './frame.ts';
import { formatTick, linearScale, logScale, type Scale } from './scale.ts';

export type Point = readonly [x: number, y: number];

export interface Series {
  readonly label: string;
  /** CSS color. */
  readonly color: string;
  readonly points: readonly Point[];
  readonly dashed?: boolean;
  /** Dots at the points. */
  readonly dots?: boolean;
}

export interface Marker {
  readonly x: number;
  readonly label: string;
}

export interface PlotSpec {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly series: readonly Series[];
  readonly xScale?: 'linear' | 'log';
  /** Upper end of the y axis; the largest value if left out. */
  readonly yMax?: number;
  /** Vertical lines. */
  readonly markers?: readonly Marker[];
  readonly width?: number;
  readonly height?: number;
}

/** A line plot as a figure with an inline SVG. */
export function linePlot(spec: PlotSpec): string {
  const { width = 380, height = 260, title, series } = spec;
  const frame = frameOf(width, height);
  const [x, y] = scales(spec, frame);
  const svg = [
    `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeHtml(title)}">`,
    grid(x, y, frame),
    axisLabels(spec, frame, height),
    ...(spec.markers ?? []).map((marker, index) => markerLine(marker, index, x, frame)),
    ...series.map((one) => seriesLine(one, x, y)),
    '</svg>',
  ].join('\n');
  return `<figure><figcaption>${escapeHtml(title)}</figcaption>${legend(series)}${svg}</figure>`;
}

function scales({ series, xScale, yMax }: PlotSpec, frame: Frame): [Scale, Scale] {
  const points = series.flatMap((one) => one.points);
  const maxOf = (index: 0 | 1) => points.reduce((most, point) => Math.max(most, point[index]), 0);
  const xRange = [frame.left, frame.right] as const;
  const x =
    xScale === 'log'
      ? logScale(
          points.reduce((least, point) => Math.min(least, point[0]), Infinity),
          maxOf(0),
          xRange,
        )
      : linearScale(maxOf(0), xRange, { endsAtTick: false });
  return [x, linearScale(yMax ?? maxOf(1), [frame.bottom, frame.top])];
}

function markerLine({ x: value, label }: Marker, index: number, x: Scale, frame: Frame): string {
  const { left, right, top, bottom } = frame;
  const at = round(x.at(value));
  const isFarRight = at > (left + right) / 2;
  const side = isFarRight ? `x="${at - 4}" text-anchor="end"` : `x="${at + 4}"`;
  // Where the curve is not: low on the right, high on the left; and no two on one line.
  const y = isFarRight ? bottom - 8 - 14 * index : top + 12 + 14 * index;
  return (
    `<line class="marker" x1="${at}" x2="${at}" y1="${top}" y2="${bottom}"/>` +
    `<text class="marker-label" ${side} y="${y}">${escapeHtml(label)}</text>`
  );
}

function seriesLine({ label, color, points, dashed, dots }: Series, x: Scale, y: Scale): string {
  const pixels = points.map((point) => [round(x.at(point[0])), round(y.at(point[1]))] as const);
  const path = pixels.map(([px, py], index) => `${index === 0 ? 'M' : 'L'}${px} ${py}`).join('');
  const dash = dashed ? ' stroke-dasharray="5 4"' : '';
  const line = `<path class="line" d="${path}" style="stroke:${color}"${dash}><title>${escapeHtml(label)}</title></path>`;
  if (!dots) return line;
  const circles = pixels.map(([px, py], index) => {
    const [vx, vy] = points[index] ?? [NaN, NaN];
    const tip = escapeHtml(`${label}: ${formatTick(vy)} at ${formatTick(vx)}`);
    return `<circle cx="${px}" cy="${py}" r="3.5" style="fill:${color}"><title>${tip}</title></circle>`;
  });
  return line + circles.join('');
}

/** One series needs none: the caption says what it is. */
function legend(series: readonly Series[]): string {
  if (series.length < 2) return '';
  const items = series.map(({ label, color, dashed }) => {
    const style = dashed ? 'dashed' : 'solid';
    return `<li><span class="key" style="border-top:2px ${style} ${color}"></span>${escapeHtml(label)}</li>`;
  });
  return `<ul class="legend">${items.join('')}</ul>`;
}
