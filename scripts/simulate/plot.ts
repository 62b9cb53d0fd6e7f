/** A title, and panels side by side: how values are spread, a line per policy. */
export interface Plot {
  readonly title: string;
  readonly panels: readonly Panel[];
}

export interface Panel {
  /** With the unit. */
  readonly label: string;
  readonly series: readonly Series[];
}

export interface Series {
  readonly name: string;
  /** Points of a cumulative distribution, ascending. */
  readonly points: readonly { readonly ms: number; readonly share: number }[];
}

interface Scale {
  readonly min: number;
  readonly max: number;
  readonly toX: (ms: number) => number;
}

/**
 * Okabe and Ito's colours, which colour-blind readers can distinguish too; dashes after the last.
 */
const COLORS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00', '#000000'];
const WIDTH = 440;
const HEIGHT = 300;
const MARGIN = { left: 50, top: 44, right: 16, bottom: 44 };
const LEGEND_LINE = 18;
const LEGEND_COLUMNS = 4;
/** Shares past which the axis is cut: the rarest values would take half of it. */
const CUT = [0.002, 0.998] as const;

/** A self-contained SVG document. */
export function plotSvg({ title, panels }: Plot): string {
  const names = panels[0]?.series.map(({ name }) => name) ?? [];
  const width = panels.length * WIDTH;
  const legendLines = Math.ceil(names.length / LEGEND_COLUMNS);
  const height = HEIGHT + legendLines * LEGEND_LINE + 8;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" ` +
      `width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="${MARGIN.left}" y="20" font-size="14" font-weight="600">${escapeXml(title)}</text>`,
    ...panels.map(
      (panel, index) => `<g transform="translate(${index * WIDTH} 0)">${panelSvg(panel)}</g>`,
    ),
    ...names.map((name, index) => legendEntry(name, index, width)),
    '</svg>',
    '',
  ].join('\n');
}

function panelSvg({ label, series }: Panel): string {
  const scale = logScale(series);
  const [right, bottom] = [WIDTH - MARGIN.right, HEIGHT - MARGIN.bottom];
  const middle = (MARGIN.left + right) / 2;
  return [
    ...[0, 25, 50, 75, 100].map((percent) => {
      const y = toY(percent / 100);
      return (
        `<path d="M${MARGIN.left} ${y}H${right}" stroke="#ddd"/>` +
        `<text x="${MARGIN.left - 6}" y="${y + 4}" text-anchor="end" fill="#555">${percent}%</text>`
      );
    }),
    ...ticks(scale).map((ms) => {
      const x = scale.toX(ms).toFixed(1);
      return (
        `<path d="M${x} ${MARGIN.top}V${bottom}" stroke="#eee"/>` +
        `<text x="${x}" y="${bottom + 16}" text-anchor="middle" fill="#555">${ms}</text>`
      );
    }),
    `<text x="${middle}" y="${bottom + 34}" text-anchor="middle">${escapeXml(label)}</text>`,
    ...series.map(({ points }, index) => {
      const path = points
        .filter(({ ms }) => ms >= scale.min && ms <= scale.max)
        .map(({ ms, share }) => `${scale.toX(ms).toFixed(1)} ${toY(share).toFixed(1)}`);
      return path.length === 0 ? '' : `<path d="M${path.join('L')}" fill="none" ${stroke(index)}/>`;
    }),
  ].join('\n');
}

function logScale(series: readonly Series[]): Scale {
  const ends = series.flatMap(({ points }) =>
    CUT.map((share) => points.find((point) => point.share >= share)?.ms ?? NaN),
  );
  const finite = ends.filter((ms) => ms > 0);
  const min = Math.min(...finite, 1e6);
  const max = Math.max(...finite, min * 1.5);
  const width = WIDTH - MARGIN.left - MARGIN.right;
  const toX = (ms: number) => MARGIN.left + (width * Math.log(ms / min)) / Math.log(max / min);
  return { min, max, toX };
}

/** Round numbers within the scale. */
function ticks({ min, max }: Scale): number[] {
  const steps = max / min > 100 ? [1] : max / min > 10 ? [1, 3] : [1, 1.5, 2, 3, 4, 5, 7];
  const exponents = Array.from({ length: 12 }, (_, index) => index - 3);
  return exponents
    .flatMap((exponent) => steps.map((step) => Number((step * 10 ** exponent).toPrecision(2))))
    .filter((ms) => ms >= min && ms <= max);
}

function toY(share: number): number {
  return MARGIN.top + (1 - share) * (HEIGHT - MARGIN.top - MARGIN.bottom);
}

function legendEntry(name: string, index: number, width: number): string {
  const columnWidth = (width - MARGIN.left) / LEGEND_COLUMNS;
  const x = MARGIN.left + (index % LEGEND_COLUMNS) * columnWidth;
  const y = HEIGHT + Math.floor(index / LEGEND_COLUMNS) * LEGEND_LINE + 8;
  return (
    `<path d="M${x} ${y}h24" ${stroke(index)}/>` +
    `<text x="${x + 30}" y="${y + 4}">${escapeXml(name)}</text>`
  );
}

function stroke(index: number): string {
  const dashes = index < COLORS.length ? '' : ' stroke-dasharray="5 3"';
  return `stroke="${COLORS[index % COLORS.length] ?? '#000'}" stroke-width="2"${dashes}`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
