import type { PrecisionReport, TaskScore } from './evaluate-model.ts';
import { markdownTable } from './markdown-table.ts';

/** The reports as a Markdown table: a column for each precision. */
export function reportTable(reports: readonly PrecisionReport[]): string {
  const [first] = reports;
  if (!first) return '';
  const row = (title: string, cell: (report: PrecisionReport) => string) => [
    title,
    ...reports.map((report) => cell(report)),
  ];
  const rows = [
    row('', ({ precision, kvCacheDtype }) =>
      kvCacheDtype === 'float32' ? precision : `${precision}, ${kvCacheDtype} KV`,
    ),
    row('file size', ({ fileBytes }) => mebibytes(fileBytes)),
    row('load time', ({ loadMs }) => `${loadMs.toFixed(0)} ms`),
    row('resident memory', ({ residentBytes }) => mebibytes(residentBytes)),
    row('step, 1 sequence', ({ singleStepMs }) => `${singleStepMs.toFixed(2)} ms`),
    row('tokens/s, 1 sequence', ({ singleStepMs }) => (1000 / singleStepMs).toFixed(0)),
    ...(first.batchSize > 1
      ? [
          row(
            `step, ${first.batchSize} sequences`,
            ({ fullStepMs }) => `${fullStepMs.toFixed(2)} ms`,
          ),
          row(`tokens/s, ${first.batchSize} sequences`, ({ fullStepMs, batchSize }) =>
            ((1000 * batchSize) / fullStepMs).toFixed(0),
          ),
        ]
      : []),
    ...(first.perplexity === null
      ? []
      : [row('perplexity', ({ perplexity }) => perplexity?.toFixed(4) ?? '')]),
    ...first.tasks.map(({ task }, i) => row(task, ({ tasks }) => share(tasks.slice(i, i + 1)))),
    ...(first.tasks.length > 1 ? [row('all tasks', ({ tasks }) => share(tasks))] : []),
  ];
  return markdownTable(rows);
}

/** Share of correct answers over tasks, such as `74.5 % (149/200)`. */
export function share(tasks: readonly TaskScore[]): string {
  const correct = tasks.reduce((sum, task) => sum + task.correct, 0);
  const cases = tasks.reduce((sum, task) => sum + task.cases, 0);
  return `${((100 * correct) / cases).toFixed(1)} % (${correct}/${cases})`;
}

export function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
