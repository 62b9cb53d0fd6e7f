/** Reads records of steps. */
import {
  CELL_FIELDS,
  CELL_LENGTH,
  type CellField,
  SENT_BACK_FOR,
  SLOT_WORK,
  type SlotWork,
  type StepRecord,
} from '../../src/engine/tap/step-record.ts';

export type StepCell = Readonly<Record<Exclude<CellField, 'work'>, number>> & {
  readonly work: SlotWork;
};

/** @param numbers of a cell; zeros at its end may be left out */
export function cellOf(numbers: readonly number[]): StepCell {
  const fields = Object.fromEntries(
    CELL_FIELDS.map((field, place) => [field, numbers[place] ?? 0]),
  );
  const work = SLOT_WORK[fields['work'] ?? -1];
  if (work === undefined) throw new Error(`a cell of unknown work: ${numbers.join(', ')}`);
  return { ...(fields as Record<CellField, number>), work };
}

export function cellsOf({ cells }: StepRecord): StepCell[] {
  return rowsOf(cells, CELL_LENGTH).map(cellOf);
}

export function sentBackOf({ sentBack }: StepRecord) {
  return rowsOf(sentBack, 3).map(([id, slot, why = -1]) => ({
    id: id ?? 0,
    slot,
    for: SENT_BACK_FOR[why],
  }));
}

function rowsOf(table: Float64Array, width: number): number[][] {
  return Array.from({ length: table.length / width }, (_, row) => [
    ...table.subarray(row * width, (row + 1) * width),
  ]);
}
