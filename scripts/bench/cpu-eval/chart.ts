import { svgText } from '../../svg-text.ts';
import { groupsOf, ratio } from './report.ts';
import type { CellResult } from './results.ts';

const WIDTH = 760;
const BAR = 16;
const GAP = 14;
const LEFT = 300;
const RIGHT = 110;
const TOP = 48;
/** Okabe and Ito's colours, which colour-blind readers can distinguish too. */
const OURS = '#0072b2';
const OTHERS = '#999999';

/**
 * Output tokens per second by cell, as SVG; the longest bar of a cell has the full width, since cells differ by
 * orders of magnitude.
 */
export function svg(results: readonly CellResult[]): string {
  const lines: string[] = [];
  let y = TOP;
  for (const { model, cell, concurrency, results: group } of groupsOf(results)) {
    const rates = group.map(({ figures }) => figures?.outputTokensPerSecond ?? 0);
    const most = Math.max(...rates, Number.MIN_VALUE);
    const streams = `${concurrency} ${concurrency === 1 ? 'stream' : 'streams'}`;
    lines.push(svgText(16, y + BAR - 3, `${model}, ${cell}, ${streams}`, 'font-weight="600"'));
    y += BAR;
    for (const [index, result] of group.entries()) {
      const rate = rates[index] ?? 0;
      const width = ((WIDTH - LEFT - RIGHT) * rate) / most;
      const fill = result.server.startsWith('chairlift') ? OURS : OTHERS;
      const against = ratio(result, group);
      const label =
        result.figures === null
          ? 'did not run'
          : rate.toPrecision(3) + (against === null ? '' : ` (ours ${against.toFixed(2)}x)`);
      lines.push(
        svgText(LEFT - 8, y + BAR - 3, result.server, 'text-anchor="end"'),
        `<rect x="${LEFT}" y="${y}" width="${width.toFixed(1)}" height="${BAR - 2}" fill="${fill}"/>`,
        svgText(LEFT + width + 6, y + BAR - 3, label),
      );
      y += BAR;
    }
    y += GAP;
  }
  const machines = [...new Set(results.map(({ machine }) => machine))].join('; ');
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y + 24}" width="${WIDTH}" ` +
      `height="${y + 24}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${y + 24}" fill="#fff"/>`,
    svgText(16, 26, 'Output tokens per second, all streams', 'font-size="14" font-weight="600"'),
    ...lines,
    svgText(16, y + 10, machines, 'fill="#666"'),
    '</svg>',
    '',
  ].join('\n');
}
