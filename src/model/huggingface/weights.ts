/** Where a model's weights come from. */
export interface WeightSource {
  /**
   * One tensor as float32, row by row.
   * @param shape the shape it must have
   * @throws {ModelError} if there is no such tensor, or it cannot be read in that shape
   */
  get(name: string, shape: readonly number[]): Promise<Float32Array>;
  /** Releases what the source holds open. */
  close(): Promise<void>;
}
