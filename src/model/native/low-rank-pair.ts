/** Change of one matrix by an adapter: B times A. */
export interface LowRankPair {
  readonly rank: number;
  /** [rank, columns] */
  readonly a: Float32Array;
  /** [rows, rank], with the adapter's scale, and rows where the graph has those of the matrix. */
  readonly b: Float32Array;
}
