/** Checkpoint tensors [rows, columns] that are stacked in one matrix. */
export interface MatrixSource {
  readonly name: string;
  readonly tensors: readonly { readonly name: string; readonly rows: number }[];
  readonly columns: number;
}
