import type { DecoderState } from '../../model/manifest.ts';

/**
 * Tokens between the snapshots of a text. Prompts are computed up to there: with fewer than the least, runs would
 * read the weights too often.
 */
const SPACING = { least: 64, most: 1024 };
/** Share of the memory that snapshots may have, where there are keys and values too. */
const SNAPSHOT_SHARE = 1 / 4;

export interface StateDemand {
  readonly states: readonly DecoderState[];
  /** Sequences that run at once. */
  readonly maxNumSeqs: number;
  /** Slots of the KV cache, and their positions. */
  readonly numSlots: number;
  readonly capacity: number;
  readonly prefixCaching: boolean;
  /** Memory for keys, values and states together. */
  readonly memoryBytes: number;
  /** Keys and values of a position; 0 where no layer attends. */
  readonly bytesPerPosition: number;
}

export interface StateBudget {
  readonly numRows: number;
  /** Tokens between the snapshots of a text. */
  readonly spacing: number;
  /** Memory of all rows. */
  readonly byteLength: number;
}

/** Memory of one sequence's states. */
export function bytesOfRow(states: readonly DecoderState[]): number {
  return states.reduce((sum, { width }) => sum + width, 0) * Float32Array.BYTES_PER_ELEMENT;
}

/**
 * Shares memory out between states and the KV cache. A running sequence has two rows. The others are of
 * snapshots, as many as the slots' texts can have, within their share.
 * @throws Error when the memory has no room for the states of all that run
 */
export function stateBudget(demand: StateDemand): StateBudget {
  const { states, maxNumSeqs, numSlots, capacity, memoryBytes, bytesPerPosition } = demand;
  const rowBytes = bytesOfRow(states);
  const spacing = spacingOf(rowBytes, bytesPerPosition);
  const numRunning = 2 * maxNumSeqs;
  if (numRunning * rowBytes > memoryBytes) {
    throw new Error(
      `${memoryBytes} bytes are too few for the states of ${maxNumSeqs} sequences: each takes ` +
        `${2 * rowBytes}. Raise --kv-cache-memory or lower --max-num-seqs`,
    );
  }
  // A text also has snapshots after its prompt and at its end.
  const numUseful = numSlots * (2 + Math.floor(capacity / spacing));
  const left = memoryBytes - numRunning * rowBytes;
  const forSnapshots = bytesPerPosition === 0 ? left : memoryBytes * SNAPSHOT_SHARE;
  const numAffordable = Math.floor(forSnapshots / rowBytes);
  const numSnapshots = demand.prefixCaching ? Math.min(numUseful, numAffordable) : 0;
  const numRows = numRunning + numSnapshots;
  return { numRows, spacing, byteLength: numRows * rowBytes };
}

/** A power of two, so that a snapshot takes no more memory than the keys and values since the last one. */
function spacingOf(rowBytes: number, bytesPerPosition: number): number {
  let spacing = SPACING.least;
  while (spacing < SPACING.most && spacing * bytesPerPosition < rowBytes) spacing *= 2;
  return spacing;
}
