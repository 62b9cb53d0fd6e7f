import { MICROSOFT_DOMAIN } from '../../onnx/graph-builder.ts';
import type { GraphProto, NodeProto } from '../../onnx/onnx_pb.ts';
import { ModelError } from '../model-error.ts';

/** A layer's attention that is not GroupQueryAttention: what goes in and out of it. */
export interface PlainAttention {
  /** In errors. */
  readonly node: NodeProto;
  /** Names of values: [batch, heads, tokens, head_dim], or packed [batch, tokens, heads * head_dim]. */
  readonly query: string;
  readonly key: string;
  readonly value: string;
  readonly output: string;
  readonly isPacked: boolean;
  /** Names of [batch, kv_heads, past, head_dim], and with the new tokens behind them. */
  readonly pastKey: string;
  readonly pastValue: string;
  readonly presentKey: string;
  readonly presentValue: string;
}

/** Operators allowed between the cache and a product: none that mixes tokens. */
const TO_PRODUCT = new Set([
  'Transpose',
  'Reshape',
  'Expand',
  'Unsqueeze',
  'Squeeze',
  'Identity',
  'Cast',
  'Mul',
  'Div',
]);
/** Operators allowed between the product of queries and keys and the softmax. */
const TO_SOFTMAX = new Set([
  'Add',
  'Sub',
  'Mul',
  'Div',
  'Where',
  'Cast',
  'Max',
  'Reshape',
  'Identity',
]);
/** Operators allowed between the softmax and the product with the values. */
const FROM_SOFTMAX = new Set(['Cast', 'Identity', 'Reshape', 'Dropout', 'Where']);

/** Fused operators, with the places of their inputs. */
const OPERATORS = [
  { opType: 'MultiHeadAttention', domain: MICROSOFT_DOMAIN, past: 6, isAlwaysPacked: true },
  { opType: 'Attention', domain: '', past: 4, isAlwaysPacked: false },
] as const;
/** Input index in MultiHeadAttention of the bias that is added to query, key and value. */
const BIAS = 3;

/**
 * Finds the attention of an export's layers that have a KV cache `past_key_values.{layer}.key|value`.
 * @returns in the order of layers; none if no layer's is known
 * @throws {ModelError} naming a node, if a layer's is not known but another's is
 */
export function findPlainAttention(graph: GraphProto, origin: string): readonly PlainAttention[] {
  const values = new Values(graph);
  const layers: (PlainAttention | NodeProto)[] = [];
  const outputs = new Set(graph.output.map(({ name }) => name));
  for (let layer = 0; ; layer++) {
    const [pastKey, pastValue] = cacheNames('past_key_values', layer);
    const [presentKey, presentValue] = cacheNames('present', layer);
    if (!outputs.has(presentKey) || !outputs.has(presentValue)) break;
    const maker = values.producer(presentKey);
    if (maker === undefined) break;
    const cache = { pastKey, pastValue, presentKey, presentValue };
    layers.push(fused(maker, cache) ?? decomposed(values, maker, cache) ?? maker);
  }
  const known = layers.filter((layer): layer is PlainAttention => 'query' in layer);
  const other = layers.find((layer): layer is NodeProto => !('query' in layer));
  if (known.length > 0 && other !== undefined) {
    throw new ModelError(
      `${origin}: the attention around ${other.opType} ${other.name} is not known`,
    );
  }
  return known;
}

type CacheNames = Pick<PlainAttention, 'pastKey' | 'pastValue' | 'presentKey' | 'presentValue'>;

function cacheNames(prefix: string, layer: number): readonly [key: string, value: string] {
  return [`${prefix}.${layer}.key`, `${prefix}.${layer}.value`];
}

/** An operator that does all of it. */
function fused(node: NodeProto, cache: CacheNames): PlainAttention | null {
  const operator = OPERATORS.find(
    ({ opType, domain }) => opType === node.opType && domain === node.domain,
  );
  const { input, output } = node;
  const [query = '', key = '', value = ''] = input;
  if (operator === undefined || query === '' || key === '' || value === '') return null;
  const { past, isAlwaysPacked } = operator;
  const isCached =
    input[past] === cache.pastKey &&
    input[past + 1] === cache.pastValue &&
    output[1] === cache.presentKey &&
    output[2] === cache.presentValue;
  if (!isCached || (isAlwaysPacked && input[BIAS])) return null;
  const isPacked = isAlwaysPacked || node.attribute.some(({ name }) => name === 'q_num_heads');
  return { ...cache, node, query, key, value, output: output[0] ?? '', isPacked };
}

/** Two products with a softmax between them. */
function decomposed(values: Values, maker: NodeProto, cache: CacheNames): PlainAttention | null {
  const key = values.appended(maker, cache.pastKey);
  const value = values.appended(values.producer(cache.presentValue), cache.pastValue);
  if (key === null || value === null) return null;
  for (const scores of values.productsOf(cache.presentKey)) {
    const softmax = values.softmaxOf(scores.output);
    const attended = values
      .productsOf(cache.presentValue)
      .find(({ other }) => softmax && values.leadsTo(softmax.output[0] ?? '', other, FROM_SOFTMAX));
    if (softmax === undefined || attended === undefined) continue;
    return {
      ...cache,
      node: softmax,
      query: scores.other,
      key,
      value,
      output: attended.output,
      isPacked: false,
    };
  }
  return null;
}

/** The values of a graph, by who makes and who reads them. */
class Values {
  readonly #producers = new Map<string, NodeProto>();
  readonly #readers = new Map<string, NodeProto[]>();

  constructor({ node: nodes }: GraphProto) {
    for (const node of nodes) {
      for (const output of node.output) this.#producers.set(output, node);
      for (const input of node.input) {
        this.#readers.set(input, [...(this.#readers.get(input) ?? []), node]);
      }
    }
  }

  producer(value: string): NodeProto | undefined {
    return this.#producers.get(value);
  }

  /** Name of the value that a node appends to a cache; null if it appends none. */
  appended(node: NodeProto | undefined, past: string): string | null {
    const [first = '', second = null, ...others] = node?.input ?? [];
    const isAppended = node?.opType === 'Concat' && this.#plain(first) === past;
    return isAppended && others.length === 0 ? second : null;
  }

  /** A value before operators that do nothing. */
  #plain(value: string): string {
    const node = this.#producers.get(value);
    const [input, ...others] = node?.input ?? [];
    const doesNothing = node?.opType === 'Identity' || node?.opType === 'Concat';
    if (input === undefined || others.length > 0 || !doesNothing) return value;
    return this.#plain(input);
  }

  /** The products of a cache with something else. */
  productsOf(cache: string): { readonly other: string; readonly output: string }[] {
    const found = [];
    for (const { node, through } of this.#reached(cache, TO_PRODUCT)) {
      const [a = '', b = ''] = node.input;
      if (node.opType !== 'MatMul' || a === through) continue;
      if (b === through) found.push({ other: a, output: node.output[0] ?? '' });
    }
    return found;
  }

  softmaxOf(scores: string): NodeProto | undefined {
    return this.#reached(scores, TO_SOFTMAX).find(({ node }) => node.opType === 'Softmax')?.node;
  }

  leadsTo(value: string, wanted: string, through: ReadonlySet<string>): boolean {
    return (
      value === wanted || this.#reached(value, through).some((each) => each.through === wanted)
    );
  }

  /** Nodes that read a value, or a value that some operators make of it; `through` is what they read. */
  #reached(from: string, operators: ReadonlySet<string>) {
    const found: { node: NodeProto; through: string }[] = [];
    const seen = new Set([from]);
    for (const value of seen) {
      for (const node of this.#readers.get(value) ?? []) {
        found.push({ node, through: value });
        if (operators.has(node.opType)) for (const output of node.output) seen.add(output);
      }
    }
    return found;
  }
}
