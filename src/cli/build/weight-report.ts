/** Report of how a checkpoint's weights were changed, for people. */
import type { DecoderManifest } from '../../model/manifest.ts';
import type { MatrixChange } from '../../model/compare/compare-weights.ts';
import { table } from '../terminal/text-format.ts';

/** One line for all matrices of the same fate. */
export function summaryOfChanges(changes: readonly MatrixChange[]): string {
  const lines = new Map<string, { change: MatrixChange; count: number }>();
  for (const change of changes) {
    const key = JSON.stringify([placeOf(change), change.from, change.form]);
    const line = lines.get(key);
    lines.set(key, { change, count: (line?.count ?? 0) + 1 });
  }
  const rows = [...lines.values()].map(({ change, count }) => [
    `  ${placeOf(change)}`,
    count === 1 ? '1 matrix' : `${count} matrices`,
    `${change.from.join(', ')} to ${change.form}`,
  ]);
  return alignedRows(rows);
}

/** Describes the constant scales of int8-static, for `build` and the banner. */
export function describeConstantScales({
  matrices,
  of,
}: NonNullable<DecoderManifest['constantScales']>): string {
  const others = matrices === of ? '' : '; for the others one would lose too much';
  return `constant scales for the inputs of ${matrices} of ${of} matrices in layers${others}`;
}

/** A line for each layer, the embedding and the LM head: of its matrices the largest errors. */
export function tableOfErrors(changes: readonly MatrixChange[]): string {
  const places = new Map<string, MatrixChange[]>();
  for (const change of changes) {
    const place = change.layer === null ? change.name : `layer ${change.layer}`;
    places.set(place, [...(places.get(place) ?? []), change]);
  }
  const rows = [...places].map(([place, matrices]) => {
    const [first, ...others] = matrices.map(({ error }) => error);
    if (!first) return [place];
    const all = [first, ...others.filter((error) => error !== null)];
    const sizes = matrices.map(({ rows: height, columns }) => height * columns);
    const weights = sizes.reduce((sum, size) => sum + size, 0);
    const squares = all.reduce((sum, { rms }, i) => sum + rms ** 2 * (sizes[i] ?? 0), 0);
    const worst = matrices.reduce((a, b) => (relativeOf(b) > relativeOf(a) ? b : a));
    return [
      place,
      number(Math.max(...all.map(({ largest }) => largest))),
      number(Math.sqrt(squares / weights)),
      percent(relativeOf(worst)),
      worst.layer === null ? '' : worst.name.slice(`layers.${worst.layer}.`.length),
    ];
  });
  return table(['', 'LARGEST ERROR', 'RMS ERROR', 'OF THE WEIGHTS', 'WORST'], rows);
}

function placeOf({ layer, name }: MatrixChange): string {
  return layer === null ? name : 'layers';
}

function relativeOf({ error }: MatrixChange): number {
  return error?.relative ?? 0;
}

function number(value: number): string {
  return value === 0 ? '0' : value.toPrecision(3);
}

function percent(share: number): string {
  return share === 0 ? '0%' : `${(100 * share).toPrecision(3)}%`;
}

function alignedRows(rows: readonly (readonly string[])[]): string {
  const [first = [], ...others] = rows;
  return table(first, others);
}
