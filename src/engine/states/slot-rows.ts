import type { Segment } from '../step.ts';
import type { RunRows } from './state-cache.ts';
import { NO_ROW } from './state-rows.ts';

/** A slot's last run: where it began and ended, and its rows. */
interface SlotRun extends RunRows {
  readonly start: number;
  readonly end: number;
}

/** Rows of slots whose texts only ever go on or begin anew: two each, read and written in turn. */
export class SlotRows {
  readonly numRows: number;
  readonly #bySlot: SlotRun[] = [];

  constructor(numSlots: number) {
    this.numRows = 2 * numSlots;
  }

  rowsOf({ sequence, start, numTokens }: Segment): RunRows {
    return this.rowsAt(sequence.slot, start, numTokens);
  }

  /** @throws Error when the state before the run is gone */
  rowsAt(slot: number, start: number, numTokens: number): RunRows {
    const rows = this.#rowsFrom(slot, start);
    this.#bySlot[slot] = { ...rows, start, end: start + numTokens };
    return rows;
  }

  #rowsFrom(slot: number, start: number): RunRows {
    const last = this.#bySlot[slot];
    if (start === 0) return { from: NO_ROW, to: 2 * slot };
    if (start === last?.end) return { from: last.to, to: 4 * slot + 1 - last.to };
    if (start === last?.start) return { from: last.from, to: last.to };
    throw new Error(`the state after ${start} tokens of slot ${slot} is gone`);
  }
}
