/** Numbers and tables as people read them. */

/** Such as `1.5B`. */
export function formatCount(count: number): string {
  return count >= 1e9 ? `${(count / 1e9).toFixed(1)}B` : `${(count / 1e6).toFixed(1)}M`;
}

export function formatBytes(bytes: number): string {
  return bytes >= 2 ** 30
    ? `${(bytes / 2 ** 30).toFixed(1)} GiB`
    : `${Math.ceil(bytes / 2 ** 20)} MiB`;
}

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;

/** Such as `2 hours`. @param ms a length of time */
export function formatTime(ms: number): string {
  const [unit, length] = UNITS.find(([, unitMs]) => ms >= unitMs) ?? ['second', 1000];
  const count = Math.floor(Math.max(0, ms) / length);
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

/** Columns of equal width, the titles above. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [titles, ...rows];
  const widths = titles.map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('   ')
        .trimEnd(),
    )
    .join('\n');
}
