import {
  CELL_FIELDS,
  CELL_LENGTH,
  type CellField,
  SLOT_WORK,
  type SlotWork,
} from './step-record.ts';

type Counts = Partial<Record<Exclude<CellField, 'slot' | 'request' | 'work' | 'pages'>, number>>;

const PLACES = Object.fromEntries(CELL_FIELDS.map((field, place) => [field, place])) as Readonly<
  Record<CellField, number>
>;

/** Writes the cells of a record: one for a slot at most. */
export class CellTable {
  readonly #cells: Float64Array;
  readonly #isUsed: Uint8Array;
  #pagesBySlot: ArrayLike<number> = [];
  #length = 0;

  constructor(numSlots: number) {
    this.#cells = new Float64Array(numSlots * CELL_LENGTH);
    this.#isUsed = new Uint8Array(numSlots);
  }

  /** Begins anew: its memory is used again for each step. */
  reset(pagesBySlot: ArrayLike<number>): void {
    this.#pagesBySlot = pagesBySlot;
    this.#isUsed.fill(0);
    this.#length = 0;
  }

  has(slot: number): boolean {
    return this.#isUsed[slot] === 1;
  }

  add(slot: number, request: number, work: SlotWork, counts: Counts): void {
    const cells = this.#cells;
    const at = this.#length;
    this.#isUsed[slot] = 1;
    this.#length += CELL_LENGTH;
    cells[at + PLACES.slot] = slot;
    cells[at + PLACES.request] = request;
    cells[at + PLACES.work] = SLOT_WORK.indexOf(work);
    cells[at + PLACES.start] = counts.start ?? 0;
    cells[at + PLACES.computed] = counts.computed ?? 0;
    cells[at + PLACES.sampled] = counts.sampled ?? 0;
    cells[at + PLACES.pages] = this.#pagesBySlot[slot] ?? 0;
    cells[at + PLACES.cached] = counts.cached ?? 0;
    cells[at + PLACES.drafted] = counts.drafted ?? 0;
    cells[at + PLACES.accepted] = counts.accepted ?? 0;
  }

  /** [cells][CELL_FIELDS], in memory of its own: a message has the whole of it. */
  toCells(): Float64Array {
    return this.#cells.slice(0, this.#length);
  }
}
