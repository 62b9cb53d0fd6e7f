/**
 * Draws what test/kubernetes/autoscaling.test.ts recorded, over time:
 *
 *   AUTOSCALING_RECORD=$PWD/record.json npm run test:kubernetes autoscaling
 *   npx tsx scripts/kubernetes/autoscaling-plot.ts record.json > docs/images/autoscaling.svg
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { svgText } from '../svg-text.ts';

/** Record whose times are milliseconds from its begin. */
const recordSchema = z.object({
  phases: z.array(z.object({ at: z.number(), people: z.int() })),
  samples: z.array(
    z.object({
      at: z.number(),
      ready: z.int(),
      desired: z.int(),
      ending: z.int(),
      waiting: z.number().nullable(),
    }),
  ),
  answers: z.array(z.object({ at: z.number(), ttftMs: z.number() })),
});

interface Point {
  readonly at: number;
  readonly value: number;
}

interface Line {
  readonly name: string;
  readonly color: string;
  readonly points: readonly Point[];
  /** Points by themselves, rather than what holds until the next. */
  readonly isDots?: boolean;
}

const WIDTH = 880;
const PANEL = 130;
const MARGIN = { left: 60, top: 50, right: 16, bottom: 44 };
const GAP = 34;
/** Okabe and Ito's colours, which colour-blind readers can distinguish too. */
const [BLUE, VERMILION, GREEN] = ['#0072b2', '#d55e00', '#009e73'];

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error('usage: autoscaling-plot.ts RECORD.json');
const { phases, samples, answers } = recordSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
const endMs = Math.max(...samples.map(({ at }) => at));
const toX = (at: number) =>
  MARGIN.left + (WIDTH - MARGIN.left - MARGIN.right) * (Math.max(at, 0) / endMs);

const sampled = (
  name: string,
  color: string,
  value: (sample: (typeof samples)[number]) => number,
) => ({
  name,
  color,
  points: samples.map((sample) => ({ at: sample.at, value: value(sample) })),
});
const panels: readonly { readonly title: string; readonly lines: readonly Line[] }[] = [
  {
    title: 'Streams, and requests that wait',
    lines: [
      {
        name: 'streams',
        color: BLUE,
        points: phases.map(({ at, people }) => ({ at, value: people })),
      },
      {
        name: 'waiting, as the autoscaler is told',
        color: VERMILION,
        points: samples.flatMap(({ at, waiting }) =>
          waiting === null ? [] : [{ at, value: waiting }],
        ),
      },
    ],
  },
  {
    title: 'Pods',
    lines: [
      sampled('wanted', VERMILION, ({ desired }) => desired),
      sampled('ready', BLUE, ({ ready }) => ready),
      sampled('draining', GREEN, ({ ending }) => ending),
    ],
  },
  {
    title: 'Time to the first token (s), of a request sent at that time',
    lines: [
      {
        name: 'a request',
        color: BLUE,
        isDots: true,
        points: answers.map(({ at, ttftMs }) => ({ at, value: ttftMs / 1000 })),
      },
    ],
  },
];

const height = MARGIN.top + panels.length * (PANEL + GAP) - GAP + MARGIN.bottom;
const bottom = height - MARGIN.bottom;
console.log(
  [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" ` +
      `height="${height}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    svgText(MARGIN.left, 20, 'A flash crowd and an autoscaler', 'font-size="14" font-weight="600"'),
    ...panels.map(({ title, lines }, index) =>
      drawPanel(MARGIN.top + index * (PANEL + GAP), title, lines),
    ),
    ...steps(endMs / 1000, 10).map((second) =>
      svgText(toX(second * 1000), bottom + 16, String(second), 'text-anchor="middle" fill="#555"'),
    ),
    svgText(WIDTH / 2, bottom + 34, 'seconds', 'text-anchor="middle"'),
    '</svg>',
  ].join('\n'),
);

function drawPanel(top: number, title: string, lines: readonly Line[]): string {
  const most = Math.max(1, ...lines.flatMap(({ points }) => points.map(({ value }) => value)));
  const toY = (value: number) => top + PANEL * (1 - value / most);
  let x = MARGIN.left;
  const legend = lines.map(({ name, color }) => {
    const drawn = svgText(x, top - 4, name, `fill="${color}"`);
    x += 16 + name.length * 6;
    return drawn;
  });
  return [
    ...steps(most, 4).map((value) => {
      const y = toY(value);
      const label = svgText(MARGIN.left - 6, y + 4, String(value), 'text-anchor="end" fill="#555"');
      return `<path d="M${MARGIN.left} ${y.toFixed(1)}H${WIDTH - MARGIN.right}" stroke="#ddd"/>${label}`;
    }),
    svgText(WIDTH - MARGIN.right, top - 4, title, 'text-anchor="end" font-weight="600"'),
    ...legend,
    ...lines.map((line) => (line.isDots === true ? dots(line, toY) : stairs(line, toY))),
  ].join('\n');
}

function dots({ color, points }: Line, toY: (value: number) => number): string {
  const drawn = points.map(({ at, value }) => `M${toX(at).toFixed(1)} ${toY(value).toFixed(1)}h0`);
  return `<path d="${drawn.join('')}" stroke="${color}" stroke-width="3" stroke-linecap="round" opacity="0.5"/>`;
}

function stairs({ color, points }: Line, toY: (value: number) => number): string {
  const drawn = points.map(({ at, value }, index) => {
    const [x, y] = [toX(at).toFixed(1), toY(value).toFixed(1)];
    return index === 0 ? `M${x} ${y}` : `H${x}V${y}`;
  });
  const end = toX(endMs).toFixed(1);
  return `<path d="${drawn.join('')}H${end}" fill="none" stroke="${color}" stroke-width="2"/>`;
}

/** Round numbers from 0 to `most`, about `count` of them. */
function steps(most: number, count: number): number[] {
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10));
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, index) => index * step);
}
