/** Checkpoint tensors [rows, columns] that are stacked in one matrix. */
export interface MatrixSource {
  readonly name: string;
  readonly tensors: readonly { readonly name: string; readonly rows: number }[];
  readonly columns: number;
}

/** A tensor of a checkpoint as a matrix. @param tensor without `.weight` */
export function tableSource(
  tensor: string,
  [rows, columns]: readonly [rows: number, columns: number],
): MatrixSource {
  return { name: tensor, tensors: [{ name: `${tensor}.weight`, rows }], columns };
}

/** Each tensor as a matrix by itself. */
export function partsOf({ name, tensors, columns }: MatrixSource): MatrixSource[] {
  return tensors.map((tensor, index) => ({ name: `${name}.${index}`, tensors: [tensor], columns }));
}

/** Rows of the whole matrix. */
export function rowsOf({ tensors }: Pick<MatrixSource, 'tensors'>): number {
  return tensors.reduce((sum, { rows }) => sum + rows, 0);
}
