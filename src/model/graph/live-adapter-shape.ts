/** Matrices that adapters are added to while the model runs, and room for them. */
export interface LiveAdapterShape {
  /** Of every adapter's matrices, zeros included. */
  readonly maxRank: number;
  readonly matrices: readonly LiveMatrix[];
}

export interface LiveMatrix {
  /** Of the linear layer. */
  readonly name: string;
  /** Tensors of the checkpoint that it is made of, each with rows of its own in the adapter. */
  readonly parts: number;
  readonly rows: number;
  readonly columns: number;
}

/** Names of a matrix's inputs: [slots * parts * maxRank, columns], and with rows in place of columns. */
export function adapterInputs(name: string): readonly [down: string, up: string] {
  return [`lora.${name}.down`, `lora.${name}.up`];
}

/** float [tokens, slots]: how much of a slot's adapter each token has; 0 for none. */
export const ADAPTER_MASK = 'lora_mask';
