import { htmlDocument, section } from '../../bench/html/document.ts';
import { escapeHtml } from '../../bench/html/escape.ts';
import { type Bubble, scatterPlot } from '../../bench/html/scatter-plot.ts';
import { mebibytes } from '../report.ts';
import { comparisonCells, comparisonNotes, levelOf, titleOf } from './compare-table.ts';
import type { Comparison, ComparisonRow } from './comparison.ts';

/** Beyond this ratio of the fastest to the slowest, speed is drawn on a log scale. */
const LOG_FROM_RATIO = 10;

/** A comparison as one document: size, speed and accuracy in plots, and the table. */
export function comparisonHtml(comparison: Comparison): string {
  const { machine, date, rows } = comparison;
  const facts = `${rows.length} variants; ${machine}; ${date.slice(0, 16).replace('T', ' ')} UTC`;
  const notes = comparisonNotes(comparison).map(
    (note) => `<p class="notes">${escapeHtml(note)}</p>`,
  );
  return htmlDocument('What each variant costs and gives', facts, [
    section('Size, speed and accuracy', 'plots pair', accuracyPlots(comparison)),
    section('Figures', '', [table(comparisonCells(comparison)), ...notes]),
  ]);
}

/** Accuracy against speed, by perplexity and by tasks: disks whose area is the size of the file. */
function accuracyPlots(comparison: Comparison): string[] {
  return [
    plot(comparison, {
      yLabel: 'Perplexity (lower is better)',
      // A variant that is of no use must not press all others together.
      clipsTop: true,
      accuracyOf: ({ perplexity }) => perplexity,
    }),
    plot(comparison, {
      yLabel: 'Tasks solved, %',
      clipsTop: false,
      accuracyOf: ({ tasks }) => {
        const cases = tasks.reduce((sum, task) => sum + task.cases, 0);
        return cases === 0
          ? null
          : (100 * tasks.reduce((sum, { correct }) => sum + correct, 0)) / cases;
      },
    }),
  ].flatMap((each) => each ?? []);
}

interface AccuracyPlot {
  readonly yLabel: string;
  readonly clipsTop: boolean;
  readonly accuracyOf: (row: ComparisonRow) => number | null;
}

/** Null where no row has that accuracy. */
function plot(
  { machine, workload, rows }: Comparison,
  { yLabel, clipsTop, accuracyOf }: AccuracyPlot,
): string | null {
  const streams = workload.streams.at(-1) ?? 1;
  const bubbles = rows.flatMap((row): Bubble[] => {
    const y = accuracyOf(row);
    const speed = levelOf(row, streams)?.tokensPerSecond ?? 0;
    if (y === null || !Number.isFinite(y) || speed === 0) return [];
    return [
      {
        label: titleOf(row, machine),
        x: speed,
        y,
        area: row.fileBytes,
        tip: `${y.toPrecision(4)}, ${speed.toFixed(0)} tokens/s, ${mebibytes(row.fileBytes)}`,
        isHollow: row.machine !== machine,
      },
    ];
  });
  if (bubbles.length === 0) return null;
  const speeds = bubbles.map(({ x }) => x);
  const isWide = Math.max(...speeds) / Math.min(...speeds) > LOG_FROM_RATIO;
  return scatterPlot({
    title: `${yLabel} against speed; areas are sizes of files`,
    xLabel: `tokens/s, ${streams} streams`,
    yLabel,
    bubbles,
    clipsTop,
    xScale: isWide ? 'log' : 'linear',
  });
}

function table([titles = [], ...rows]: readonly (readonly string[])[]): string {
  const head = titles.map((title) => `<th>${escapeHtml(title)}</th>`).join('');
  const body = rows.map(
    (cells) => `<tr>${cells.map((cell) => `<td>${escapeHtml(cell)}</td>`).join('')}</tr>`,
  );
  return `<div class="table"><table><thead><tr>${head}</tr></thead><tbody>${body.join('')}</tbody></table></div>`;
}
