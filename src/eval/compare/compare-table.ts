import { markdownTable } from '../markdown-table.ts';
import { mebibytes, share } from '../report.ts';
import type { Comparison, ComparisonRow } from './comparison.ts';

/** Titles, then a row of cells for each variant. */
export function comparisonCells({ machine, workload, rows }: Comparison): string[][] {
  const { streams } = workload;
  const [fewest = 1, most = 1] = [streams[0], streams.at(-1)];
  const hasPerplexity = rows.some(({ perplexity }) => perplexity !== null);
  const hasTasks = rows.some(({ tasks }) => tasks.length > 0);
  return [
    [
      'variant',
      'file',
      'memory',
      'start',
      `request p50 / p95, ${fewest} stream${fewest === 1 ? '' : 's'}`,
      `p50 / p95, ${most} streams`,
      `requests/s, ${most} streams`,
      ...streams.map((count) => `tokens/s, ${count}`),
      ...(hasPerplexity ? ['perplexity'] : []),
      ...(hasTasks ? ['tasks'] : []),
    ],
    ...rows.map((row) => [
      titleOf(row, machine),
      mebibytes(row.fileBytes),
      mebibytes(row.residentBytes),
      milliseconds(row.startMs),
      latencies(row, fewest),
      latencies(row, most),
      levelOf(row, most)?.requestsPerSecond.toFixed(1) ?? '',
      ...streams.map((count) => levelOf(row, count)?.tokensPerSecond.toFixed(0) ?? ''),
      ...(hasPerplexity ? [row.perplexity?.toFixed(4) ?? ''] : []),
      ...(hasTasks ? [row.tasks.length > 0 ? share(row.tasks) : ''] : []),
    ]),
  ];
}

/** The comparison as Markdown: the table, and what is to be known to read it. */
export function comparisonMarkdown(comparison: Comparison): string {
  return [markdownTable(comparisonCells(comparison)), '', ...comparisonNotes(comparison)].join(
    '\n',
  );
}

/** Sentences for below a table. */
export function comparisonNotes({ machine, workload, rows }: Comparison): string[] {
  const { promptTokens, outputTokens } = workload;
  const first = rows.find((row) => row.machine === machine);
  const notes = [
    `A request has ${promptTokens} tokens and gets ${outputTokens}, without drafts or cached prefixes; ` +
      'each variant in an engine process of its own, in turns; rounds, of which the medians count: ' +
      `${first?.rounds ?? 0}. ${machine}; threads: ${first?.threads ?? 0}.`,
  ];
  const elsewhere = rows.filter((row) => row.machine !== machine);
  if (elsewhere.length > 0) {
    const names = elsewhere.map((row) => `${row.variant} on ${row.machine}`);
    notes.push(`Measured elsewhere, and not beside the others: ${names.join('; ')}.`);
  }
  if (new Set(rows.map(({ numScoredTokens }) => numScoredTokens)).size > 1) {
    notes.push(
      'The variants split the texts into different numbers of tokens: their perplexities cannot be compared.',
    );
  }
  return notes;
}

/** A variant's name, marked where it ran elsewhere. */
export function titleOf({ variant, precision, machine }: ComparisonRow, here: string): string {
  const title = variant.endsWith(`:${precision}`) ? variant : `${variant} (${precision})`;
  return machine === here ? title : `${title}, ${machine}`;
}

export function levelOf({ levels }: ComparisonRow, streams: number) {
  return levels.find((level) => level.streams === streams);
}

function latencies(row: ComparisonRow, streams: number): string {
  const level = levelOf(row, streams);
  return level ? `${level.p50Ms.toFixed(0)} / ${milliseconds(level.p95Ms)}` : '';
}

function milliseconds(ms: number): string {
  return `${ms.toFixed(0)} ms`;
}
