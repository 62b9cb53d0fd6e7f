/** Size of a request's outputs, as far as the graph's shapes give it before the run. */
import { LIMITS } from '../../limits.ts';
import {
  type CheckedInputs,
  type GraphSignature,
  TensorError,
  type TensorSpec,
} from '../../encoder/tensors/signature.ts';
import { bytesPerElement } from '../../encoder/tensors/tensor.ts';

/**
 * @param wanted names of outputs
 * @returns bytes; dimensions known only after the run, and texts, count as one
 * @throws TensorError when they are more than a request may have
 */
export function requireOutputBytes(
  { outputs, isBatched }: GraphSignature,
  wanted: readonly string[],
  { rows, sizes }: Pick<CheckedInputs, 'rows' | 'sizes'>,
): number {
  const sizeOf = (dimension: number | string, axis: number): number => {
    if (typeof dimension === 'number') return dimension;
    return isBatched && axis === 0 ? rows : (sizes.get(dimension) ?? 1);
  };
  let bytes = 0;
  for (const { name, datatype, shape } of outputs) {
    if (!wanted.includes(name)) continue;
    const width = datatype === 'BYTES' ? 1 : bytesPerElement(datatype);
    const size = countOf(shape, sizeOf) * width;
    bytes += size;
    if (bytes > LIMITS.tensorOutputBytes) {
      throw new TensorError(
        `the outputs would have ${bytes} bytes and more; ${LIMITS.tensorOutputBytes} are the most`,
      );
    }
  }
  return bytes;
}

function countOf(
  shape: TensorSpec['shape'],
  sizeOf: (dimension: number | string, axis: number) => number,
): number {
  return shape.reduce<number>((count, dimension, axis) => count * sizeOf(dimension, axis), 1);
}
