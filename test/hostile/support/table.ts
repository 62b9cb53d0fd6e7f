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
  const rows = lines.map((line) => JSON.parse(line) as Row);
  if (rows.length === 0) return;
  const header = [
    'attack',
    'gap before, ms',
    'gap, ms',
    'wait, ms',
    '/livez p100, ms',
    'front, MiB',
    'engine, MiB',
    'answers',
    'harm',
  ];
  printTable(
    header,
    rows.map(({ family, attack, outcome }) => [
      `${family}: ${attack}`,
      outcome.before.gapMs.toFixed(0),
      outcome.during.gapMs.toFixed(0),
      outcome.during.waitMs.toFixed(0),
      outcome.during.livezMs.toFixed(0),
      `+${outcome.frontMiB?.toFixed(0)}`,
      `+${outcome.engineMiB?.toFixed(0)}`,
      outcome.report.statuses.map(([status, count]) => `${count} x ${status}`).join(', '),
      [...outcome.report.breaches, ...outcome.faults, ...outcome.during.errors]
        .join('; ')
        .slice(0, 300),
    ]),
  );
}
