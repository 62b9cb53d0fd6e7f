/** Rows as a Markdown table, the first one its header; columns but the first are set to the right. */
export function markdownTable(rows: readonly (readonly string[])[]): string {
  const [header = []] = rows;
  const widths = header.map((_, column) =>
    Math.max(...rows.map((cells) => cells[column]?.length ?? 0), 4),
  );
  const line = (cells: readonly string[]) => {
    const padded = cells.map((cell, column) => {
      const width = widths[column] ?? 0;
      return column === 0 ? cell.padEnd(width) : cell.padStart(width);
    });
    return `| ${padded.join(' | ')} |`;
  };
  const rule = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [line(header), line(rule), ...rows.slice(1).map((cells) => line(cells))].join('\n');
}
