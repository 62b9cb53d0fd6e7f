/** Inputs of a graph for adapters while it runs: each input has a slot for each adapter. */
export interface LiveAdapterShape {
  readonly inputs: readonly AdapterInput[];
}

/** An input [slots * rows, columns], and the tensor of an adapter's file that goes into a slot. */
export interface AdapterInput {
  readonly name: string;
  readonly type: AdapterType;
  /** Rows of one slot; columns too are those of one slot. */
  readonly rows: number;
  readonly columns: number;
}

export const ADAPTER_TYPES = ['float', 'uint8'] as const;
export type AdapterType = (typeof ADAPTER_TYPES)[number];

/** The name of a linear layer's matrix. */
export function liveMatrixName(layer: string, part: number): string {
  return `${layer}.${part}`;
}

/**
 * Ranks that a slot has room for, for adapters of up to `maxRank`. In multiples of four, products round
 * an adapter's sums alike however many there are: a stream goes on in a server with another limit.
 */
export function roomForRank(maxRank: number): number {
  return Math.ceil(maxRank / 4) * 4;
}

/** Names of a matrix's inputs, with maxRank rows: those of A, and the columns of B. */
export function adapterInputs(name: string): readonly [down: string, up: string] {
  return [`lora.${name}.down`, `lora.${name}.up`];
}

/** float [tokens, slots]: how much of a slot's adapter each token has; 0 for none. */
export const ADAPTER_MASK = 'lora_mask';
