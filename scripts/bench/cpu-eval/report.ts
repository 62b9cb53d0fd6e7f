import { MODELS, type ServerKind, SERVERS } from './plan.ts';
import type { CellResult } from './results.ts';

const HEADER = [
  'server',
  'tokens/s',
  'ours against it',
  'TTFT, median',
  'P95',
  'ITL, median',
  'P95',
  'memory',
  'a million tokens',
];

/** Results of a model and cell with so many streams. */
interface Group {
  readonly model: string;
  readonly cell: string;
  readonly concurrency: number;
  readonly results: readonly CellResult[];
}

/**
 * A table for each model, as Markdown. Ratios are tokens per second of ours by those of a server whose weights
 * have as many bits.
 * @param coreHourPrice of a core for an hour, in any currency: what a million output tokens cost on all
 *   threads' cores
 */
export function markdown(results: readonly CellResult[], coreHourPrice: number): string {
  const groups = groupsOf(results);
  const models = [...new Set(groups.map(({ model }) => model))];
  const machines = [...new Set(results.map(({ machine }) => machine))];
  const sections = models.map((model) => {
    const ofModel = groups.filter((group) => group.model === model);
    const rows = ofModel.flatMap((group) => rowsOf(group, coreHourPrice));
    return [`## ${model}`, '', ...table(['cell, streams', ...HEADER], rows)].join('\n');
  });
  const failed = results.flatMap(({ model, cell, concurrency, server, failure }) =>
    failure === null ? [] : [`- ${model} ${cell}, ${concurrency}: ${server}: ${lastLine(failure)}`],
  );
  return [
    `Measured on ${machines.join('; ')}. A core-hour at ${coreHourPrice}.`,
    ...sections,
    ...(failed.length > 0 ? [['## Did not run', '', ...failed].join('\n')] : []),
    '',
  ].join('\n\n');
}

/** Models smallest first, cells by their lengths, then streams; servers in the order of SERVERS. */
export function groupsOf(results: readonly CellResult[]): Group[] {
  const ordered = results.toSorted(
    (a, b) =>
      rank(MODELS, a.model) - rank(MODELS, b.model) ||
      a.prompt - b.prompt ||
      a.output - b.output ||
      a.concurrency - b.concurrency ||
      rank(Object.keys(SERVERS), a.server) - rank(Object.keys(SERVERS), b.server),
  );
  const groups: Array<Group & { readonly results: CellResult[] }> = [];
  for (const result of ordered) {
    const { model, cell, concurrency } = result;
    const last = groups.at(-1);
    if (last?.model === model && last.cell === cell && last.concurrency === concurrency) {
      last.results.push(result);
    } else {
      groups.push({ model, cell, concurrency, results: [result] });
    }
  }
  return groups;
}

/** Ours over another's, of as many bits; null for ours itself, and where either did not run. */
export function ratio(result: CellResult, group: readonly CellResult[]): number | null {
  const kind = SERVERS[result.server];
  if (kind === undefined || isOurs(kind)) return null;
  const ours = group.find(({ server }) => {
    const other = SERVERS[server];
    return other !== undefined && isOurs(other) && other.bits === kind.bits;
  });
  if (!ours?.figures || !result.figures) return null;
  return ours.figures.outputTokensPerSecond / result.figures.outputTokensPerSecond;
}

/** Chairlift with its own kernels. */
export function isOurs({ program, kernels }: ServerKind): boolean {
  return program === 'chairlift' && kernels === undefined;
}

/** Price of a million output tokens where all threads' cores are paid by the hour. */
export function costPerMillion(
  outputTokensPerSecond: number,
  cores: number,
  coreHourPrice: number,
): number {
  const hours = 1e6 / outputTokensPerSecond / 3600;
  return hours * cores * coreHourPrice;
}

function rowsOf({ cell, concurrency, results }: Group, coreHourPrice: number): string[][] {
  return results.map((result) => {
    const { figures, server, threads } = result;
    const where = `${cell}, ${concurrency}`;
    if (figures === null) return [where, server, 'did not run', ...HEADER.slice(2).map(() => '')];
    const against = ratio(result, results);
    const rate = figures.outputTokensPerSecond;
    return [
      where,
      server,
      rate.toPrecision(3),
      against === null ? '' : `${against.toFixed(2)}x`,
      ...[figures.ttftMs, figures.itlMs].flatMap(({ median, p95 }) => [ms(median), ms(p95)]),
      `${(figures.peakBytes / 1e9).toFixed(2)} GB`,
      costPerMillion(rate, threads, coreHourPrice).toFixed(2),
    ];
  });
}

function ms(value: number): string {
  return value < 1000 ? `${value.toFixed(0)} ms` : `${(value / 1000).toFixed(1)} s`;
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)];
}

function rank(names: readonly string[], name: string): number {
  const index = names.indexOf(name);
  return index === -1 ? names.length : index;
}

/** The last line that is no place in a program. */
function lastLine(text: string): string {
  const lines = text.trim().split('\n');
  return lines.findLast((line) => !line.trimStart().startsWith('at ')) ?? '';
}
