import { create } from '@bufbuild/protobuf';

import { attributeProto } from '../../onnx/attributes.ts';
import type { GraphRewriter } from '../../onnx/graph-rewriter.ts';
import { NodeProtoSchema, type NodeProto } from '../../onnx/onnx_pb.ts';
import { layerKvNames } from '../graph/kv-names.ts';
import { type LayerKvScales, quantizedCache } from '../graph/kv-scales.ts';
import type { TokenPacking } from '../graph/token-packing.ts';

/** Inputs of GroupQueryAttention, by their places. */
const KEY = 1;
const VALUE = 2;
const PAST_KEY = 3;
const POSITIONS = 9;

/**
 * Makes an export's GroupQueryAttention, which works over [1, tokens], run for each group of
 * sequences separately, with the decoder's lengths and cache.
 * @param width of its output for a token
 */
export function regroupAttention(
  graph: GraphRewriter,
  attention: NodeProto,
  layer: number,
  width: number,
  packing: TokenPacking,
  kvScales: readonly LayerKvScales[] | undefined,
): void {
  const [query = '', key = '', value = ''] = attention.input;
  const [output = ''] = attention.output;
  const first = graph.initializer('attention/first', 'int64', [1], BigInt64Array.of(0n));
  const packed = [query, key, value]
    .filter((name) => name !== '')
    .map((name) => graph.node(`${name}/Packed${layer}`, 'Squeeze', [name, first]));
  const isPacked = packed.length === 1;
  const quantized = kvScales ? quantizedCache(layer) : { inputs: [], attributes: {} };
  const added = Object.entries(quantized.attributes).map((entry) => attributeProto(...entry));
  // Our caches hold every position, also where only a window of them is attended to.
  const kept = attention.attribute.filter(({ name }) => name !== 'sliding_window_cache');

  const attended = packing.forEachGroup(packed, width, (rows, group) => {
    const inputs = [...attention.input];
    inputs[0] = rows[0] ?? '';
    inputs[KEY] = isPacked ? '' : (rows[1] ?? '');
    inputs[VALUE] = isPacked ? '' : (rows[2] ?? '');
    const [past, present] = (['past_key_values', 'present'] as const).map((prefix) =>
      layerKvNames(prefix, layer).map((name) => `${group}${name}`),
    );
    inputs.splice(PAST_KEY, 2, ...(past ?? []));
    inputs.splice(PAST_KEY + 2, 2, `${group}seqlens_k`, `${group}total_sequence_length`);
    // The kernel knows them from the lengths.
    if (inputs.length > POSITIONS) inputs[POSITIONS] = '';
    for (const [at, scale] of quantized.inputs.entries()) {
      while (inputs.length <= POSITIONS + at) inputs.push('');
      inputs[POSITIONS + at] ||= scale;
    }
    const name = `${group}layers.${layer}.attention/GroupQueryAttention`;
    return graph.add(
      create(NodeProtoSchema, {
        ...attention,
        name,
        input: inputs,
        output: [name, ...(present ?? [])],
        attribute: [...kept, ...added],
      }),
    );
  });
  graph.node(`layers.${layer}.attention/Row`, 'Unsqueeze', [attended, first], {
    outputs: [output],
  });
}
