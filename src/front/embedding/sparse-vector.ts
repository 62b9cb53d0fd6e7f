import type { TensorValue } from '../../encoder/tensors/tensor.ts';
import type { SparseVector } from './embed-request.ts';
import { ownVector } from './vectors.ts';

/** A vector of the outputs of a text, in memory of its own. */
export function sparseVectorOf([places, weights]: readonly TensorValue[]): SparseVector {
  if (!(places?.data instanceof Int32Array)) throw new Error('the encoder made no places');
  return { ids: places.data.slice(), weights: ownVector(weights?.data) };
}
