import { readFile, writeFile } from 'node:fs/promises';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import type { BuiltModel } from '../../src/model/manifest.ts';
import { ModelProtoSchema } from '../../src/onnx/onnx_pb.ts';

/** `MatMulNBits` multiplies by floats at this accuracy level, by integers at the one that models have. */
const FLOAT_ACTIVATIONS = 1n;

/** The same quantized weights, multiplied without rounding what they are multiplied by. */
export async function withFloatProducts(model: BuiltModel): Promise<BuiltModel> {
  const [graphPath, mixedGraphPath] = await Promise.all(
    [model.graphPath, model.mixedGraphPath].map(rewrite),
  );
  return {
    ...model,
    graphPath: graphPath ?? model.graphPath,
    mixedGraphPath: mixedGraphPath ?? model.mixedGraphPath,
  };
}

/** Writes the new graph beside the old one, since both have the same weights file. */
async function rewrite(path: string): Promise<string> {
  const model = fromBinary(ModelProtoSchema, await readFile(path));
  for (const { attribute } of model.graph?.node ?? []) {
    for (const each of attribute) if (each.name === 'accuracy_level') each.i = FLOAT_ACTIVATIONS;
  }
  const rewritten = path.replace(/\.onnx$/, '-float-products.onnx');
  await writeFile(rewritten, toBinary(ModelProtoSchema, model));
  return rewritten;
}
