import { readBounded } from '../../files/read-bounded.ts';
import { standInForBinary } from '../../files/stand-in.ts';
import { MODEL_LIMITS } from '../../model-limits.ts';
import { ModelError } from '../../model/model-error.ts';
import { TensorProto_DataType as DataType, type ValueInfoProto } from '../../onnx/onnx_pb.ts';
import { givenInputs, parseModel } from '../../onnx/parsed-model.ts';

/** Inputs and outputs of a graph, such as `input: float [batch, 3]`. */
export interface GraphInterface {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

/** @throws ModelError when the file can't be read, or is no ONNX graph */
export async function readGraphInterface(file: string): Promise<GraphInterface> {
  try {
    const bytes = await readBounded(file, MODEL_LIMITS.graphBytes);
    const other = standInForBinary(bytes);
    if (other !== null) throw new Error(`it ${other}`);
    const { graph } = parseModel(bytes);
    return { inputs: givenInputs(graph).map(describe), outputs: graph.output.map(describe) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ModelError(`${file} can't be read: ${reason}`, { cause: error });
  }
}

function describe({ name, type }: ValueInfoProto): string {
  if (type?.value.case !== 'tensorType') return `${name}: no tensor`;
  const { elemType, shape } = type.value.value;
  const sizes = shape?.dim.map(({ value }) =>
    value.case === undefined ? '?' : String(value.value || '?'),
  );
  const [element = 'unknown'] =
    Object.entries(DataType).find(([, number]) => number === elemType) ?? [];
  return `${name}: ${element.toLowerCase()} [${sizes?.join(', ') ?? '...'}]`;
}
