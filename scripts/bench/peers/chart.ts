/**
 * Draws the decode speeds that compare.ts measured, as the README shows them:
 *
 *   npx tsx scripts/bench/peers/compare.ts --json > docs/data/peers.json
 *   npx tsx scripts/bench/peers/chart.ts docs/data/peers.json > docs/images/peers.svg
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { svgText } from '../../svg-text.ts';
import { median } from '../lib/table.ts';

const results = z.object({
  machine: z.string(),
  promptTokens: z.number(),
  rounds: z.number(),
  comparisons: z.array(
    z.object({
      sequences: z.number(),
      contenders: z.array(z.object({ name: z.string(), decode: z.array(z.number()) })),
    }),
  ),
});

const WIDTH = 760;
const BAR = 16;
const GAP = 26;
const LEFT = 250;
const RIGHT = 70;
const TOP = 56;
/** Okabe and Ito's colours, which colour-blind readers can distinguish too. */
const OURS = '#0072b2';
const OTHERS = '#999999';

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error('usage: chart.ts PEERS.json');
const { machine, promptTokens, rounds, comparisons } = results.parse(
  JSON.parse(readFileSync(path, 'utf8')),
);

const groups = comparisons.map(({ sequences, contenders }) => ({
  title: `${sequences} ${sequences === 1 ? 'stream' : 'streams'}`,
  bars: contenders.map(({ name, decode }) => ({ name, tokensPerSecond: median(decode) })),
}));
const most = Math.max(
  ...groups.flatMap(({ bars }) => bars.map(({ tokensPerSecond }) => tokensPerSecond)),
);

const lines: string[] = [];
let y = TOP;
for (const { title, bars } of groups) {
  lines.push(svgText(16, y + BAR - 3, title, 'font-weight="600"'));
  for (const { name, tokensPerSecond } of bars) {
    const width = ((WIDTH - LEFT - RIGHT) * tokensPerSecond) / most;
    const fill = name.startsWith('chairlift') ? OURS : OTHERS;
    lines.push(
      svgText(LEFT - 8, y + BAR - 3, name, 'text-anchor="end"'),
      `<rect x="${LEFT}" y="${y}" width="${width.toFixed(1)}" height="${BAR - 2}" fill="${fill}"/>`,
      svgText(LEFT + width + 6, y + BAR - 3, tokensPerSecond.toFixed(0)),
    );
    y += BAR;
  }
  y += GAP - BAR;
}
const footnote = `${machine}; prompts of ${promptTokens} tokens, medians of ${rounds} rounds`;
console.log(
  [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y + 30}" width="${WIDTH}" ` +
      `height="${y + 30}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${y + 30}" fill="#fff"/>`,
    svgText(
      16,
      26,
      'Tokens per second, all streams together (135M parameters)',
      'font-size="14" font-weight="600"',
    ),
    ...lines,
    svgText(16, y + 16, footnote, 'fill="#666"'),
    '</svg>',
  ].join('\n'),
);
