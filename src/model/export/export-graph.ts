import { MICROSOFT_DOMAIN } from '../../onnx/graph-builder.ts';
import { given, GraphRewriter } from '../../onnx/graph-rewriter.ts';
import {
  TensorProto_DataType as DataType,
  type GraphProto,
  type NodeProto,
  type TensorProto,
  type ValueInfoProto,
} from '../../onnx/onnx_pb.ts';
import { givenInputs, type ParsedModel } from '../../onnx/parsed-model.ts';
import { ModelError } from '../model-error.ts';
import { countedPositions } from './counted-positions.ts';
import { regroupAttention } from './export-attention.ts';
import { pickLogits } from './export-lm-head.ts';
import { quantizeActivations } from './export-matmuls.ts';
import { HIDDEN_OUTPUT } from '../graph/decoder-parts.ts';
import { cast } from '../quantize/float-matrix.ts';
import { declareKvScales, type LayerKvScales } from '../graph/kv-scales.ts';
import type { ActivationDtype, Precision } from '../manifest.ts';
import { declareSlotInputs, declareSlotOutputs } from '../graph/slot-interface.ts';
import { type GroupPrefix, packTokens } from '../graph/token-packing.ts';
import { packPositions } from '../graph/token-positions.ts';

/** Facts about an export from its other files. */
export interface ExportConfig {
  /** Such as `llama`. */
  readonly family: string;
  readonly vocabSize: number;
  /** Null where nothing says it: then it gives no embeddings. */
  readonly hiddenSize: number | null;
  readonly maxPositionEmbeddings: number;
  /** Null where it is left to the graph. */
  readonly headDim: number | null;
  /** Heads of queries; null where it is left to the graph. */
  readonly numHeads: number | null;
  /** Cap of attention scores; null if they have none, or if the graph states it. */
  readonly attentionSoftcap: number | null;
  readonly inputIds: string;
  readonly logits: string;
}

/** Facts about an export from its graph. */
export interface ExportFacts {
  readonly precision: Precision;
  /** Type of the KV cache, and of values between nodes. */
  readonly activationDtype: ActivationDtype;
  readonly numLayers: number;
  readonly numHeads: number;
  readonly numKvHeads: number;
  readonly headDim: number;
  /** Positions that its rotary tables reach; Infinity where it has none. */
  readonly maxPositions: number;
  /** The largest of any layer. */
  readonly attentionSoftcap: number | null;
  readonly numParameters: number;
}

/** An export, after inspection. */
export interface ExportGraph {
  readonly parsed: ParsedModel;
  readonly config: ExportConfig;
  readonly facts: ExportFacts;
}

/** By ONNX's numbers. */
export const CACHE_TYPES = new Map<number, ExportFacts['activationDtype']>([
  [DataType.FLOAT, 'float32'],
  [DataType.FLOAT16, 'float16'],
]);

/** Where nodes read rotary tables, by their operator. */
const TABLE_INPUTS: Readonly<Record<string, number>> = {
  GroupQueryAttention: 7,
  RotaryEmbedding: 2,
};

const SUPPORTED =
  'supported: decoders with a KV cache in past_key_values inputs and present outputs whose attention is ' +
  'GroupQueryAttention, MultiHeadAttention, or a Softmax between two products';

/**
 * Inspects an export.
 * @param origin what to call it in errors, such as its path
 * @throws ModelError when it is not a decoder that can be served, saying what was found
 */
export function inspectExport(
  parsed: ParsedModel,
  config: ExportConfig,
  origin: string,
): ExportGraph {
  const { graph } = parsed;
  const layers = attentionNodes(graph);
  if (layers.length === 0) {
    const others = [...new Set(graph.node.map(({ opType }) => opType))].filter((type) =>
      /attention|softmax/i.test(type),
    );
    const found =
      others.length === 0
        ? 'no attention'
        : `attention in a form that is not supported (${others.join(', ')})`;
    throw new ModelError(`${origin} has ${found}; ${SUPPORTED}`);
  }
  const inputs = new Map(givenInputs(graph).map((input) => [input.name, input]));
  const caches = layers.flatMap(({ input }) => input.slice(3, 5)).map((name) => inputs.get(name));
  const outputs = new Set(graph.output.map(({ name }) => name));
  const isCached = layers.every(({ output }) =>
    output.slice(1, 3).every((name) => outputs.has(name)),
  );
  if (!isCached || caches.length !== 2 * layers.length || caches.includes(undefined)) {
    throw new ModelError(`${origin} has layers without a KV cache of their own; ${SUPPORTED}`);
  }
  if (layers.some(({ input }) => input[10])) {
    throw new ModelError(`${origin} adds a bias to attention scores, which is not supported`);
  }
  if (!inputs.has(config.inputIds) && inputs.has('inputs_embeds')) {
    throw new ModelError(
      `${origin} takes embeddings (inputs_embeds) in place of token ids: it is a part of a model that has more, ` +
        'or was made with exclude_embeds; export it with its embeddings',
    );
  }
  if (!inputs.has(config.inputIds)) {
    throw new ModelError(
      `${origin} has no input ${config.inputIds}, only ${[...inputs.keys()].join(', ')}`,
    );
  }
  const logits = graph.output.find(({ name }) => name === config.logits);
  if (logits === undefined) {
    const others = [...outputs].filter((name) => !name.startsWith('present')).join(', ');
    throw new ModelError(
      `${origin} has no output ${config.logits}${others && `, only ${others}`}: export it with its LM head ` +
        '(exclude_lm_head leaves that out)',
    );
  }
  const vocabSize = sizesOf(logits).at(-1);
  if (vocabSize !== undefined && vocabSize !== null && vocabSize !== config.vocabSize) {
    throw new ModelError(
      `${origin} has logits for ${vocabSize} tokens, and its configuration says ${config.vocabSize}`,
    );
  }
  const only = <T>(values: readonly T[], what: string): T => {
    const [first, ...others] = new Set(values);
    if (first !== undefined && others.length === 0) return first;
    throw new ModelError(
      `${origin} has layers of different ${what}: ${[first, ...others].join(', ')}`,
    );
  };
  const sizes = caches.map((cache) => sizesOf(cache)[3] ?? config.headDim);
  const headDim = only(sizes, 'head sizes');
  if (headDim === null) throw new ModelError(`nothing says how large the heads of ${origin} are`);
  const type = only(caches.map(elementTypeOf), 'KV cache types');
  const activationDtype = CACHE_TYPES.get(type);
  if (activationDtype === undefined) {
    throw new ModelError(
      `${origin} has a KV cache of element type ${type}, which is not supported`,
    );
  }
  return {
    parsed,
    config,
    facts: {
      precision: precisionOf(graph, activationDtype),
      activationDtype,
      numLayers: layers.length,
      numHeads: only(
        layers.map((node) => integer(node, 'num_heads')),
        'numbers of heads',
      ),
      numKvHeads: only(
        layers.map((node) => integer(node, 'kv_num_heads')),
        'numbers of KV heads',
      ),
      headDim,
      maxPositions: tableLength(graph),
      attentionSoftcap: Math.max(...layers.map(softcapOf)) || null,
      numParameters: graph.initializer.reduce((sum, tensor) => sum + numValues(tensor), 0),
    },
  };
}

/**
 * Makes an export into a decoder as buildDecoderGraph describes it: lengths replace an attention mask,
 * positions follow from them, quantized matmuls take 8-bit activations by default, and the LM head
 * computes the wanted tokens. The tokens of all sequences come one after the other, as if they were one
 * text; only attention sees sequences.
 * @throws ModelError when the graph needs what a decoder is not given
 */
export function rewriteExport(
  { parsed, config, facts }: ExportGraph,
  groups: readonly GroupPrefix[],
  kvScales: readonly LayerKvScales[] | undefined,
  origin: string,
): GraphRewriter {
  const { numLayers, numKvHeads, numHeads, headDim, activationDtype } = facts;
  const graph = new GraphRewriter(parsed);
  const cacheType = kvScales ? 'int8' : activationDtype === 'float32' ? 'float' : activationDtype;
  const heads = { numKvHeads, headDim };
  const layers = { first: 0, count: numLayers };
  const cache = { layers, headsOf: () => heads, type: cacheType, shared: [] } as const;
  graph.input('logits_index', 'int64', ['wanted']);
  declareSlotInputs(graph, groups, cache);
  declareKvScales(graph, kvScales ?? [], cache.headsOf);
  const packing = packTokens(graph, groups);
  const first = graph.initializer('tokens/first', 'int64', [1], BigInt64Array.of(0n));
  const ids = cast(graph, 'tokens/ids', packing.tokenIds, 'int64');
  graph.node('tokens/row', 'Unsqueeze', [ids, first], { outputs: [given(config.inputIds)] });
  const positions = packPositions(graph, groups);
  graph.node('positions/row', 'Unsqueeze', [positions, first], {
    outputs: [given('position_ids')],
  });
  const ownLogits = given(config.logits);
  for (const counted of countedPositions(graph, ownLogits, config.inputIds)) {
    graph.node(`positions/${counted}`, 'Identity', [positions], { outputs: [counted] });
  }
  const nodes = graph.needed([ownLogits]);
  if (activationDtype === 'float32') quantizeActivations(nodes);
  for (const [layer, node] of nodes.filter(isAttention).entries()) {
    regroupAttention(graph, node, layer, numHeads * headDim, packing, kvScales);
  }
  // Where they are float32 already, ONNX Runtime drops the cast.
  const { logits, hidden } = pickLogits(graph, ownLogits, 'logits_index');
  cast(graph, 'logits', logits, 'float');
  graph.output('logits', 'float', ['wanted', config.vocabSize]);
  if (hidden !== null && config.hiddenSize !== null) {
    cast(graph, HIDDEN_OUTPUT, hidden, 'float');
    graph.output(HIDDEN_OUTPUT, 'float', ['wanted', config.hiddenSize]);
  }
  declareSlotOutputs(graph, groups, cache);
  const missing = graph.missing();
  if (missing !== null) {
    const input = missing.value.replace(/^given\//, '');
    throw new ModelError(
      `${origin} needs its input ${input} for ${missing.node.opType} ${missing.node.name.replace(/^given\//, '')}, ` +
        'outside of attention, which is not supported',
    );
  }
  return graph;
}

function isAttention({ opType, domain }: NodeProto): boolean {
  return opType === 'GroupQueryAttention' && domain === MICROSOFT_DOMAIN;
}

/** In the order of layers. */
export function attentionNodes(graph: GraphProto): NodeProto[] {
  return graph.node.filter(isAttention);
}

export function elementTypeOf(value: ValueInfoProto | undefined): number {
  const type = value?.type?.value;
  return type?.case === 'tensorType' ? type.value.elemType : DataType.UNDEFINED;
}

/** A value's dimensions; null for those that have no size. */
export function sizesOf(value: ValueInfoProto | undefined): (number | null)[] {
  const type = value?.type?.value;
  const dims = type?.case === 'tensorType' ? (type.value.shape?.dim ?? []) : [];
  return dims.map(({ value: dim }) => (dim.case === 'dimValue' ? Number(dim.value) : null));
}

function integer({ attribute }: NodeProto, wanted: string): number {
  return Number(attribute.find(({ name }) => name === wanted)?.i ?? 0);
}

function softcapOf({ attribute }: NodeProto): number {
  return attribute.find(({ name }) => name === 'softcap')?.f ?? 0;
}

/** By the matmuls that have most of the weights. */
function precisionOf(graph: GraphProto, dtype: ExportFacts['activationDtype']): Precision {
  const has = (type: RegExp, bits?: number) =>
    graph.node.some(
      (node) => type.test(node.opType) && (bits === undefined || integer(node, 'bits') === bits),
    );
  if (has(/^MatMulNBits$/, 4) || has(/^MatMulBnb4$/)) return 'int4';
  if (has(/^MatMulNBits$/, 8) || has(/^(MatMulInteger|DynamicQuantizeMatMul)/)) return 'int8';
  return dtype === 'float16' ? 'fp16' : 'fp32';
}

function tableLength({ node, initializer }: GraphProto): number {
  const tables = new Set(node.map(({ opType, input }) => input[TABLE_INPUTS[opType] ?? -1]));
  const lengths = initializer
    .filter(({ name }) => tables.has(name))
    .map(({ dims }) => Number(dims[0]));
  return Math.min(...lengths);
}

/** Number of values in a weight; scales and the like hardly count. Two values of 4 bits make a byte. */
function numValues({ name, dims, dataType }: TensorProto): number {
  const count = dims.reduce((product, dim) => product * Number(dim), 1);
  if (/scale|zero_?point|_zp$/i.test(name)) return 0;
  return dataType === DataType.UINT8 && dims.length === 3 ? 2 * count : count;
}
