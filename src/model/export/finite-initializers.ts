import { open } from 'node:fs/promises';

import { externalPlace } from '../../onnx/external-initializers.ts';
import { type TensorProto, TensorProto_DataType as DataType } from '../../onnx/onnx_pb.ts';
import { isExternal } from '../../onnx/protos.ts';
import { readPieces } from '../file-range.ts';
import { areFinite, type FloatDtype, notFinite } from '../huggingface/finite.ts';
import { STORED_FLOATS } from '../huggingface/stored-floats.ts';

const DTYPES: ReadonlyMap<number, FloatDtype> = new Map([
  [DataType.FLOAT, 'F32'],
  [DataType.FLOAT16, 'F16'],
  [DataType.BFLOAT16, 'BF16'],
]);

/** Bytes looked at at a time. */
const PIECE_BYTES = 2 ** 22;

/**
 * Looks through the weights of an export's graph. What is minus infinite may be a mask.
 * @param file the graph's, next to those that weights may lie in
 * @throws {ModelError} naming the first tensor with a value that is NaN or infinite, and its file
 */
export async function requireFiniteWeights(
  tensors: readonly TensorProto[],
  folder: string,
  file: string,
): Promise<void> {
  for (const tensor of tensors) {
    const dtype = DTYPES.get(tensor.dataType);
    if (dtype === undefined) continue;
    const { elementBytes, convert } = STORED_FLOATS[dtype];
    const shape = tensor.dims.map(Number);
    let first = 0;
    for await (const { bytes, path } of piecesOf(tensor, elementBytes, folder, file)) {
      const count = bytes.byteLength / elementBytes;
      if (!areFinite(bytes, dtype)) {
        const values = new Float32Array(count);
        convert(bytes, values);
        const index = values.findIndex((value) => !(value < Infinity));
        const what = `${path}: tensor "${tensor.name}"`;
        if (index !== -1) throw notFinite(values, index, { what, shape, first });
      }
      first += count;
    }
  }
}

async function* piecesOf(tensor: TensorProto, elementBytes: number, folder: string, path: string) {
  if (!isExternal(tensor)) {
    // At the beginning of a buffer, whatever lies before it in the file.
    yield { bytes: new Uint8Array(tensor.rawData), path };
    return;
  }
  const place = externalPlace(tensor, folder, path);
  const byteLength = place.dims.reduce((product, size) => product * size, elementBytes);
  const data = await open(place.path, 'r');
  try {
    const span = { offset: place.byteOffset, byteLength };
    const what = `${place.path}: tensor "${tensor.name}"`;
    for await (const bytes of readPieces(data, span, PIECE_BYTES, what)) {
      yield { bytes, path: place.path };
    }
  } finally {
    await data.close();
  }
}
