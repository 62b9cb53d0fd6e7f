/** Matrices that adapters are added to while the model runs, and room for them. */
export interface LiveAdapterShape {
  /** Of every adapter's matrices, zeros included. */
  readonly maxRank: number;
  readonly matrices: readonly LiveMatrix[];
}

/** Of one tensor of a checkpoint, of which a linear layer may have several, side by side. */
export interface LiveMatrix {
  readonly name: string;
  readonly rows: number;
  readonly columns: number;
}

/** The name of a linear layer's matrix. */
export function liveMatrixName(layer: string, part: number): string {
  return `${layer}.${part}`;
}

/**
 * Ranks that a slot has room for where adapters may have so many. In multiples of four, products round
 * an adapter's sums alike however many there are: a stream goes on in a server with another limit.
 */
export function roomForRank(maxRank: number): number {
  return Math.ceil(maxRank / 4) * 4;
}

/** Names of a matrix's inputs: [slots * maxRank, columns], and with rows in place of columns. */
export function adapterInputs(name: string): readonly [down: string, up: string] {
  return [`lora.${name}.down`, `lora.${name}.up`];
}

/** float [tokens, slots]: how much of a slot's adapter each token has; 0 for none. */
export const ADAPTER_MASK = 'lora_mask';
