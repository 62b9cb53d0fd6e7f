/** Hears the names of values while a decoder is emitted, for graphs that are cut out of it. */
export interface DecoderObserver {
  /**
   * What a layer begins with, or the last norm after all layers.
   * @param hidden what is added to the sum of everything before
   * @param residual that sum; undefined where there is none yet
   */
  boundary(layer: number, hidden: string, residual: string | undefined): void;
  /** What a linear layer reads. @param name such as `layers.3.mlp.down` */
  linear(name: string, input: string): void;
}
