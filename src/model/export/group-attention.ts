import { clone, create } from '@bufbuild/protobuf';

import { MICROSOFT_DOMAIN } from '../../onnx/graph-builder.ts';
import {
  GraphProtoSchema,
  type NodeProto,
  OperatorSetIdProtoSchema,
  type TensorProto,
} from '../../onnx/onnx_pb.ts';
import type { ParsedModel } from '../../onnx/parsed-model.ts';
import { inlineTensor, nodeProto } from '../../onnx/protos.ts';
import { ModelError } from '../model-error.ts';
import { checkAttention, type CheckedExport } from './attention-check.ts';
import type { AttentionForm, AttentionShape } from './attention-trial.ts';
import {
  attentionNodes,
  CACHE_TYPES,
  elementTypeOf,
  type ExportConfig,
  sizesOf,
} from './export-graph.ts';
import { findPlainAttention, type PlainAttention } from './plain-attention.ts';

/**
 * An export whose plain attention is replaced by GroupQueryAttention, where that computes the same:
 * with the cache as it is, without rotary embedding, and without what made the mask.
 * @param isForOneToken whether the graph has no mask for several tokens, as there is another one for prompts
 * @returns null if there is none, or no layer's is known
 * @throws {ModelError} naming a node, if a layer computes something else
 */
export async function groupAttention(
  parsed: ParsedModel,
  config: ExportConfig,
  origin: string,
  isForOneToken = false,
): Promise<{ readonly parsed: ParsedModel; readonly maxPositions: number } | null> {
  if (attentionNodes(parsed.graph).length > 0) return null;
  const layers = findPlainAttention(parsed.graph, origin);
  if (layers.length === 0) return null;
  const graph = clone(GraphProtoSchema, parsed.graph);
  const replaced = new Set(
    layers.flatMap(({ output, presentKey, presentValue }) => [output, presentKey, presentValue]),
  );
  graph.node = graph.node.filter(({ output }) => !output.some((name) => replaced.has(name)));
  let maxPositions = config.maxPositionEmbeddings;
  for (const [layer, attention] of layers.entries()) {
    const sizes = sizesOfLayer(parsed, attention, config, origin);
    const { inputIds } = config;
    const exported = { parsed, origin, ...sizes, inputIds, maxPositions, isForOneToken };
    const form = await checkAttention(exported, attention);
    ({ maxPositions } = form);
    const { nodes, constants } = grouped(attention, layer, sizes.shape, {
      ...form,
      softcap: config.attentionSoftcap,
    });
    graph.node.push(...nodes);
    graph.initializer.push(...constants);
  }
  const { model } = parsed;
  const knows = model.opsetImport.some(({ domain }) => domain === MICROSOFT_DOMAIN);
  const added = create(OperatorSetIdProtoSchema, { domain: MICROSOFT_DOMAIN, version: 1n });
  const opsetImport = knows ? model.opsetImport : [...model.opsetImport, added];
  return { parsed: { model: { ...model, opsetImport }, graph }, maxPositions };
}

/** @throws {ModelError} if nothing says them */
function sizesOfLayer(
  { graph }: ParsedModel,
  { node, pastKey }: PlainAttention,
  config: ExportConfig,
  origin: string,
): Pick<CheckedExport, 'shape' | 'type'> {
  const cache = graph.input.find(({ name }) => name === pastKey);
  const [, kvHeads, , dims] = sizesOf(cache);
  const own = node.attribute.find(({ name }) => /^(q_)?num_heads$/.test(name));
  const numHeads = own ? Number(own.i) : config.numHeads;
  const numKvHeads = kvHeads ?? numHeads;
  const headDim = dims ?? config.headDim;
  const type = CACHE_TYPES.get(elementTypeOf(cache));
  if (numHeads === null || numKvHeads === null || headDim === null || type === undefined) {
    throw new ModelError(`nothing says how many heads of which size ${origin} has in ${pastKey}`);
  }
  const shape = { numHeads, numKvHeads, headDim };
  return { shape, type: type === 'float32' ? 'float' : type };
}

/** Nodes and constants that replace a layer's attention. */
function grouped(
  { query, key, value, output, isPacked, ...cache }: PlainAttention,
  layer: number,
  { numHeads, numKvHeads, headDim }: AttentionShape,
  { scale, window, softcap }: AttentionForm & { readonly softcap: number | null },
): { readonly nodes: readonly NodeProto[]; readonly constants: readonly TensorProto[] } {
  const prefix = `attention/${layer}`;
  const nodes: NodeProto[] = [];
  const constants: TensorProto[] = [];
  const node = (...given: Parameters<typeof nodeProto>): string => {
    nodes.push(nodeProto(...given));
    return given[0];
  };
  const shape = (name: string, ...dims: readonly number[]): string => {
    const data = BigInt64Array.from(dims, BigInt);
    const initializer = { name, type: 'int64', dims: [dims.length], data } as const;
    constants.push(inlineTensor(initializer, new Uint8Array(data.buffer)));
    return name;
  };
  const attributes = { perm: [0n, 2n, 1n, 3n] };
  const flat = isPacked ? '' : shape(`${prefix}/flat`, 0, 0, -1);
  const packed = [query, key, value].map((name, index) => {
    if (isPacked) return name;
    const tokens = node(`${prefix}/Tokens${index}`, 'Transpose', [name], { attributes });
    return node(`${prefix}/Packed${index}`, 'Reshape', [tokens, flat]);
  });
  const attended = isPacked ? output : `${prefix}/Attended`;
  // Lengths are added where sequences are.
  const inputs = [...packed, cache.pastKey, cache.pastValue, '', ''];
  node(`${prefix}/Grouped`, 'GroupQueryAttention', inputs, {
    domain: MICROSOFT_DOMAIN,
    outputs: [attended, cache.presentKey, cache.presentValue],
    attributes: {
      num_heads: BigInt(numHeads),
      kv_num_heads: BigInt(numKvHeads),
      scale,
      ...(window !== null && { local_window_size: BigInt(window) }),
      // Optimum leaves out the cap that config.json states (Gemma 2): PyTorch's own attention has none.
      ...(softcap !== null && { softcap }),
    },
  });
  if (!isPacked) {
    const apart = shape(`${prefix}/apart`, 0, 0, numHeads, headDim);
    const heads = node(`${prefix}/Heads`, 'Reshape', [attended, apart]);
    node(`${prefix}/Apart`, 'Transpose', [heads], { outputs: [output], attributes });
  }
  return { nodes, constants };
}
