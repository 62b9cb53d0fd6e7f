/**
 * Chairlift's graph with the inputs that Transformers.js feeds: an attention mask in place of lengths,
 * and logits of the last position, as exports for it compute them too.
 */
import { create, toBinary } from '@bufbuild/protobuf';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileExists } from '../../../src/files/file-exists.ts';
import type { BuiltModel } from '../../../src/model/manifest.ts';
import {
  type GraphProto,
  ModelProtoSchema,
  type NodeProto,
  NodeProtoSchema,
  type TensorProto,
} from '../../../src/onnx/onnx_pb.ts';
import { attributeProto, type AttributeValue } from '../../../src/onnx/attributes.ts';
import { parseModel } from '../../../src/onnx/parsed-model.ts';
import { inlineTensor, valueInfo } from '../../../src/onnx/protos.ts';

/** @returns a folder for `from_pretrained` */
export async function prepareTransformersModel(
  { graphPath, manifest }: BuiltModel,
  config: object,
): Promise<string> {
  const folder = join(dirname(graphPath), 'transformers-js');
  const onnx = join(folder, 'onnx');
  await mkdir(onnx, { recursive: true });
  // Ids that end a sequence are left out: every contender generates to the full length.
  const settings = { ...config, bos_token_id: null, eos_token_id: null };
  await writeFile(join(folder, 'config.json'), JSON.stringify(settings));
  const weights = `${graphPath}.data`;
  const linked = join(onnx, basename(weights));
  if (!(await fileExists(linked))) {
    await rm(linked, { force: true });
    await link(weights, linked);
  }
  const { model, graph } = parseModel(await readFile(graphPath));
  rewrite(graph, manifest.vocabSize);
  await writeFile(join(onnx, 'model.onnx'), toBinary(ModelProtoSchema, model));
  return folder;
}

const REPLACED = ['seqlens_k', 'total_sequence_length', 'logits_index'];

function rewrite(graph: GraphProto, vocabSize: number): void {
  graph.input = graph.input.filter(({ name }) => !REPLACED.includes(name));
  graph.input.push(valueInfo('attention_mask', 'int64', ['batch_size', 'total_sequence_length']));
  for (const { name, type } of graph.input) {
    if (type?.value.case !== 'tensorType') continue;
    const dims = type.value.value.shape?.dim ?? [];
    renameDim(dims[0], 'batch_size');
    if (name.startsWith('past_key_values.')) renameDim(dims[2], 'past_sequence_length');
  }
  for (const node of graph.node) {
    node.output = node.output.map((name) => (name === 'logits' ? 'last_logits' : name));
  }
  graph.output = graph.output.map((output) =>
    output.name === 'logits' ? valueInfo('logits', 'float', ['batch_size', 1, vocabSize]) : output,
  );
  graph.initializer.push(
    constant('peer/zero', [1], 0n),
    constant('peer/one', [1], 1n),
    constant('peer/zero_scalar', [], 0n),
    constant('peer/one_scalar', [], 1n),
  );
  graph.node.unshift(...lengthNodes());
  graph.node.push(makeNode('Unsqueeze', ['last_logits', 'peer/one'], 'logits'));
}

/** The three inputs that the mask and the ids stand for. */
function lengthNodes(): NodeProto[] {
  return [
    makeNode('ReduceSum', ['attention_mask', 'peer/one'], 'peer/lengths', { keepdims: 0n }),
    makeNode('Sub', ['peer/lengths', 'peer/one'], 'peer/last'),
    makeNode('Cast', ['peer/last'], 'seqlens_k', { to: 6n }),
    makeNode('Shape', ['attention_mask'], 'peer/mask_shape'),
    makeNode('Gather', ['peer/mask_shape', 'peer/one_scalar'], 'peer/total'),
    makeNode('Cast', ['peer/total'], 'total_sequence_length', { to: 6n }),
    makeNode('Shape', ['input_ids'], 'peer/ids_shape'),
    makeNode('Gather', ['peer/ids_shape', 'peer/zero'], 'peer/batch'),
    makeNode('Gather', ['peer/ids_shape', 'peer/one'], 'peer/seq'),
    makeNode('Sub', ['peer/seq', 'peer/one'], 'peer/last_position'),
    makeNode('Squeeze', ['peer/batch'], 'peer/batch_scalar'),
    makeNode('Range', ['peer/zero_scalar', 'peer/batch_scalar', 'peer/one_scalar'], 'peer/range'),
    makeNode('Mul', ['peer/range', 'peer/seq'], 'peer/firsts'),
    makeNode('Add', ['peer/firsts', 'peer/last_position'], 'logits_index'),
  ];
}

function makeNode(
  opType: string,
  input: string[],
  output: string,
  attributes: Readonly<Record<string, AttributeValue>> = {},
): NodeProto {
  return create(NodeProtoSchema, {
    name: `peer/${opType}/${output}`,
    opType,
    input,
    output: [output],
    attribute: Object.entries(attributes).map(([name, value]) => attributeProto(name, value)),
  });
}

function constant(name: string, dims: readonly number[], value: bigint): TensorProto {
  const data = BigInt64Array.of(value);
  return inlineTensor({ name, type: 'int64', dims, data }, new Uint8Array(data.buffer));
}

function renameDim(
  dim: { value: { case: string | undefined; value?: unknown } } | undefined,
  name: string,
): void {
  if (dim?.value.case === 'dimParam') dim.value.value = name;
}
