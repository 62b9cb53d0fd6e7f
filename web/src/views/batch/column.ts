import type { Cell } from './cell.ts';
import type { EngineEvent, QueueEvent, StepEvent } from './step-events.ts';

/** An iteration of one engine process, and what happened since the one before. */
export interface Column {
  /** Counts columns of the process, from 0 on; columns that were forgotten count too. */
  readonly index: number;
  readonly event: StepEvent;
  readonly cells: readonly Cell[];
  /**
   * Beginning and end on the picture's clock, in milliseconds: long idle times are cut out of it. What
   * lies between two iterations while there is work belongs to the second.
   */
  readonly from: number;
  readonly to: number;
  /** Milliseconds that were cut out right before it. */
  readonly cutMs: number;
  /** As it was last heard of before. */
  readonly queue: QueueEvent | null;
  readonly engine: EngineEvent | null;
  /** Iterations before it that are missing, since this client read too slowly. */
  readonly lostBefore: number;
  /** The process crashed before it, and is another one now. */
  readonly isRecovered: boolean;
}
