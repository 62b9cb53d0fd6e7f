import type { LoadOperation } from './load-operation.ts';

/** Work on the KV cache's memory, done in order before anything runs. */
export type CacheOperation =
  | LoadOperation
  | {
      /** Copies the first `length` positions of a slot to another. */
      readonly type: 'copy';
      readonly from: number;
      readonly to: number;
      readonly length: number;
      /** Positions that layers with a sliding window have; all of them if left out. */
      readonly windows?: readonly (readonly [start: number, end: number])[];
    }
  | {
      /** Gives back the memory of a slot's positions from `start` on: their content is void. */
      readonly type: 'discard';
      readonly slot: number;
      readonly start: number;
      readonly end: number;
      /** Only in layers with a sliding window. */
      readonly isWindowed?: true;
    };
