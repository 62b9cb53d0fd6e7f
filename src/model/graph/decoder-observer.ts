import type { ResidualSum } from './decoder-values.ts';

/** Hears the names of values while a decoder is made, for graphs that are cut out of it. */
export interface DecoderObserver {
  /** @param sum what a layer begins with, or the last norm after all layers */
  boundary(layer: number, sum: ResidualSum): void;
  /** @param name such as `layers.3.mlp.down` @param input what that linear layer reads */
  linear(name: string, input: string): void;
}
