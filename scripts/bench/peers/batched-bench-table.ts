import type { BatchTimes } from './contender.ts';

/**
 * Reads the table of llama.cpp's llama-batched-bench. Times come from the rates, which it prints with
 * more digits.
 * @returns times of the last row
 * @throws {Error} if there is no such row
 */
export function lastBatchTimes(output: string): BatchTimes {
  const rows = output.split('\n').filter((line) => line.startsWith('|'));
  const names = cells(rows[0] ?? '');
  const values = cells(rows.at(-1) ?? '');
  const column = (name: string): number => {
    const value = Number(values[names.indexOf(name)] ?? NaN);
    if (!(value > 0)) throw new Error(`no ${name} in what llama-batched-bench printed:\n${output}`);
    return value;
  };
  const milliseconds = (tokens: number, perSecond: number) => (tokens * 1000) / perSecond;
  const sequences = column('B');
  return {
    prefillMs: milliseconds(sequences * column('PP'), column('S_PP t/s')),
    decodeMs: milliseconds(sequences * column('TG'), column('S_TG t/s')),
  };
}

function cells(row: string): string[] {
  return row
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}
