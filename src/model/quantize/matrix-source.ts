/** Checkpoint tensors [rows, columns] that are stacked in one matrix. */
export interface MatrixSource {
  readonly name: string;
  readonly tensors: readonly { readonly name: string; readonly rows: number }[];
  readonly columns: number;
}

/** Rows of the whole matrix. */
export function rowsOf({ tensors }: Pick<MatrixSource, 'tensors'>): number {
  return tensors.reduce((sum, { rows }) => sum + rows, 0);
}
