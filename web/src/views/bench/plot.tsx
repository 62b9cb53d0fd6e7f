import { formatTick, linearScale, logScale, type Scale } from '../../../../src/bench/html/scale.ts';

export type Point = readonly [x: number, y: number];

interface PlotProps {
  readonly title: string;
  readonly xLabel: string;
  readonly yLabel: string;
  readonly points: readonly Point[];
  readonly xScale?: 'linear' | 'log';
  /** Upper end of the y axis; the largest value if left out. */
  readonly yMax?: number;
  /** Vertical lines. */
  readonly markers?: readonly { readonly x: number; readonly label: string }[];
  readonly isWide?: boolean;
  /** Labels of the x axis; plain numbers if left out. */
  readonly formatX?: (value: number) => string;
}

const HEIGHT = 240;
const TOP = 14;
const BOTTOM = HEIGHT - 40;
const LEFT = 54;

/** A line plot, as the command's report has it. */
export function Plot(props: PlotProps) {
  const { title, xLabel, yLabel, points, markers = [], isWide = false } = props;
  const { formatX = formatTick } = props;
  const width = isWide ? 580 : 380;
  const right = width - 18;
  const [x, y] = scalesOf(props, right);
  const path = points.map(([px, py]) => `${x.at(px).toFixed(1)} ${y.at(py).toFixed(1)}`).join('L');
  return (
    <figure class="card plot">
      <figcaption>{title}</figcaption>
      <svg viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={title}>
        {y.ticks.map((tick) => (
          <g key={tick}>
            <line class="grid" x1={LEFT} x2={right} y1={y.at(tick)} y2={y.at(tick)} />
            <text x={LEFT - 8} y={y.at(tick) + 4} text-anchor="end">
              {formatTick(tick)}
            </text>
          </g>
        ))}
        {x.ticks.map((tick) => (
          <g key={tick}>
            <line class="grid" x1={x.at(tick)} x2={x.at(tick)} y1={TOP} y2={BOTTOM} />
            <text x={x.at(tick)} y={BOTTOM + 17} text-anchor="middle">
              {formatX(tick)}
            </text>
          </g>
        ))}
        <line class="axis" x1={LEFT} x2={right} y1={BOTTOM} y2={BOTTOM} />
        <text x={(LEFT + right) / 2} y={HEIGHT - 5} text-anchor="middle">
          {xLabel}
        </text>
        <text transform={`translate(13 ${(TOP + BOTTOM) / 2}) rotate(-90)`} text-anchor="middle">
          {yLabel}
        </text>
        <path class="line" d={`M${path}`} />
        {markers.map((marker, index) => (
          <MarkerLine key={marker.label} marker={marker} index={index} x={x} right={right} />
        ))}
      </svg>
    </figure>
  );
}

function scalesOf({ points, xScale, yMax }: PlotProps, right: number): [Scale, Scale] {
  const most = (index: 0 | 1) => points.reduce((max, point) => Math.max(max, point[index]), 0);
  const least = points.reduce((min, [px]) => Math.min(min, px), Infinity);
  const x =
    xScale === 'log'
      ? logScale(least, most(0), [LEFT, right])
      : linearScale(most(0), [LEFT, right], { endsAtTick: false });
  return [x, linearScale(yMax ?? most(1), [BOTTOM, TOP])];
}

interface MarkerLineProps {
  readonly marker: { readonly x: number; readonly label: string };
  readonly index: number;
  readonly x: Scale;
  readonly right: number;
}

function MarkerLine({ marker, index, x, right }: MarkerLineProps) {
  const at = x.at(marker.x);
  const isFarRight = at > (LEFT + right) / 2;
  // Where the curve is not: low on the right, high on the left; and no two on one line.
  const y = isFarRight ? BOTTOM - 8 - 14 * index : TOP + 12 + 14 * index;
  return (
    <g>
      <line class="marker" x1={at} x2={at} y1={TOP} y2={BOTTOM} />
      <text
        class="marker-label"
        x={isFarRight ? at - 4 : at + 4}
        y={y}
        text-anchor={isFarRight ? 'end' : 'start'}
      >
        {marker.label}
      </text>
    </g>
  );
}
