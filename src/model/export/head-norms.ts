import { clone } from '@bufbuild/protobuf';

import { GraphProtoSchema, type NodeProto, type TensorProto } from '../../onnx/onnx_pb.ts';
import type { ParsedModel } from '../../onnx/parsed-model.ts';
import { inlineTensor, nodeProto } from '../../onnx/protos.ts';
import { ModelError } from '../model-error.ts';
import { attentionNodes } from './export-graph.ts';

/** Inputs of GroupQueryAttention with the weights of norms of heads, by the places of what they scale. */
const NORMS = [
  { at: 0, weight: 14, heads: 'num_heads' },
  { at: 1, weight: 15, heads: 'kv_num_heads' },
] as const;

const EPSILON = 'qk_norm_epsilon';

/**
 * Moves the norms of the heads of queries and keys out of an export's attention, into nodes before it:
 * ONNX Runtime GenAI's model builder has them inside for CUDA and WebGPU (Qwen3), and on a CPU the kernel
 * has none.
 * @param origin what to call the export in errors
 * @returns what was given, if it has none
 * @throws {ModelError} if such attention takes queries, keys and values as one
 */
export function moveHeadNorms(parsed: ParsedModel, origin: string): ParsedModel {
  if (!attentionNodes(parsed.graph).some(hasNorms)) return parsed;
  const graph = clone(GraphProtoSchema, parsed.graph);
  graph.node = graph.node.flatMap((node) => {
    if (!hasNorms(node)) return [node];
    if (node.input[1] === '') {
      throw new ModelError(
        `${origin} normalizes heads in ${node.opType} ${node.name}, of queries, keys and values in one, ` +
          'which is not supported',
      );
    }
    const moved = NORMS.map((norm) => normalized(node, norm));
    graph.initializer.push(...moved.flatMap(({ shapes }) => shapes));
    for (const [index, { at, weight }] of NORMS.entries()) {
      node.input[at] = moved[index]?.nodes.at(-1)?.output[0] ?? '';
      node.input[weight] = '';
    }
    while (node.input.at(-1) === '') node.input.pop();
    node.attribute = node.attribute.filter(({ name }) => name !== EPSILON);
    return [...moved.flatMap(({ nodes }) => nodes), node];
  });
  return { model: parsed.model, graph };
}

function hasNorms({ input, opType }: NodeProto): boolean {
  return opType === 'GroupQueryAttention' && NORMS.some(({ weight }) => Boolean(input[weight]));
}

/** The nodes that normalize each head of what attention reads at a place. */
function normalized(
  { name, input, attribute }: NodeProto,
  { at, weight, heads }: (typeof NORMS)[number],
): { readonly nodes: readonly NodeProto[]; readonly shapes: readonly TensorProto[] } {
  const prefix = `${name}/norm${at}`;
  const count = attribute.find((each) => each.name === heads)?.i ?? 0n;
  const epsilon = attribute.find((each) => each.name === EPSILON)?.f ?? 1e-6;
  const tensor = (part: string, ...dims: readonly bigint[]) => {
    const data = BigInt64Array.from(dims);
    const initializer = {
      name: `${prefix}/${part}`,
      type: 'int64',
      dims: [dims.length],
      data,
    } as const;
    return inlineTensor(initializer, new Uint8Array(data.buffer));
  };
  const apart = tensor('apart', 0n, 0n, count, -1n);
  const packed = tensor('packed', 0n, 0n, -1n);
  return {
    nodes: [
      nodeProto(`${prefix}/Heads`, 'Reshape', [input[at] ?? '', apart.name]),
      nodeProto(
        `${prefix}/Norm`,
        'SimplifiedLayerNormalization',
        [`${prefix}/Heads`, input[weight] ?? ''],
        { attributes: { axis: -1n, epsilon, stash_type: 1n } },
      ),
      nodeProto(`${prefix}/Packed`, 'Reshape', [`${prefix}/Norm`, packed.name]),
    ],
    shapes: [apart, packed],
  };
}
