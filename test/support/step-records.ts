import { CELL_FIELDS, SLOT_WORK, type StepRecord } from '../../src/engine/tap/step-record.ts';
import type { StepCell } from './step-cells.ts';

/** A record of an iteration, with whatever is given changed. */
export function stepRecord(
  cells: readonly Partial<StepCell>[] = [],
  overrides: Partial<StepRecord> = {},
): StepRecord {
  const numbers = cells.flatMap((cell) =>
    CELL_FIELDS.map((field) =>
      field === 'work' ? SLOT_WORK.indexOf(cell.work ?? 'decode') : (cell[field] ?? 0),
    ),
  );
  return {
    step: 0,
    startedAt: 1_760_000_000_000.125,
    ms: 10.5,
    runMs: 9.25,
    predictedMs: 9,
    cells: Float64Array.from(numbers),
    waiting: new Float64Array(),
    numWaiting: 0,
    sentBack: new Float64Array(),
    pages: { length: 16, total: 100, running: 2, kept: 0 },
    ...overrides,
  };
}
