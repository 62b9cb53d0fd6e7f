import type { LinearInput } from './linear.ts';

/** The sum that all layers add to, [tokens, hidden]. */
export interface ResidualSum {
  readonly sum: string;
  /** The last addend, where the next norm adds it. */
  readonly added?: string;
}

/** An RMS normalization that is part of the product after it. */
export interface NormBefore {
  /** Name of its weights [columns]. */
  readonly weight: string;
  readonly epsilon: number;
}

/** A value, and the norm that its readers have to apply, if there is one left. */
export interface Normalized {
  readonly value: string;
  readonly norm?: NormBefore | undefined;
}

/** A normalized sum, and the sum itself with everything added. */
export interface NormalizedSum extends Normalized {
  readonly sum: ResidualSum;
}

export type NormalizedInput = LinearInput & Normalized;

/** Where a value is added. */
export interface Addition {
  readonly to: ResidualSum;
  /** Tensor of a norm that the value passes first; null if there is none. */
  readonly norm: string | null;
  /** Name of the layer, for the nodes that this takes. */
  readonly prefix: string;
  /** Picks those rows of the input and of the sum that are still computed; all if left out. */
  readonly pick?: (value: string) => string;
}
