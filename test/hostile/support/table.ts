/** The rows of all files' attacks, gathered in a file and printed when the last one is done. */
import { appendFileSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { printTable } from '../../../scripts/bench/lib/table.ts';
import type { Outcome } from './stage.ts';

interface Row {
  readonly family: string;
  readonly attack: string;
  readonly outcome: Outcome;
}

declare module 'vitest' {
  interface ProvidedContext {
    hostileTable: string;
  }
}

export function addRow(file: string, row: Row): void {
  appendFileSync(file, `${JSON.stringify(row)}\n`);
}

/**
 * Vitest's global set-up. `CHAIRLIFT_HOSTILE_ROWS` names a file to leave the rows in, a line of JSON
 * each.
 */
export default async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), 'chairlift-hostile-'));
  const file = process.env['CHAIRLIFT_HOSTILE_ROWS'] ?? join(folder, 'rows');
  appendFileSync(file, '');
  provide('hostileTable', file);
  return async () => {
    print(file);
    await rm(folder, { recursive: true, force: true });
  };
}

function print(file: string): void {
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  if (lines.length === 0) return;
  const header = [
    'attack',
    'text before, ms',
    'gap before, ms',
    'gap, ms',
    'with a core',
    'wait, ms',
    '/livez p100, ms',
    'with a core',
    'front, MiB',
    'engine, MiB',
    'answers',
    'harm',
  ];
  const rows = lines.map((line) => {
    const { family, attack, outcome } = JSON.parse(line) as Row;
    return cellsOf(`${family}: ${attack}`, outcome);
  });
  printTable(header, rows);
}

function cellsOf(name: string, { before, during, report, faults, ...outcome }: Outcome): string[] {
  const harm = [...report.breaches, ...faults, ...during.errors].join('; ');
  return [
    name,
    before.textMs.toFixed(0),
    before.gapMs.toFixed(0),
    during.gapMs.toFixed(0),
    during.stallMs.toFixed(0),
    during.waitMs.toFixed(0),
    during.livezMs.toFixed(0),
    during.livezStallMs.toFixed(0),
    // JSON has no NaN.
    `+${outcome.frontMiB?.toFixed(0)}`,
    `+${outcome.engineMiB?.toFixed(0)}`,
    report.statuses.map(([status, count]) => `${count} x ${status}`).join(', '),
    harm.slice(0, 300),
  ];
}
