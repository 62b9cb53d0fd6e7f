import { given, type GraphRewriter } from '../../onnx/graph-rewriter.ts';
import { TensorProto_DataType as DataType, type NodeProto } from '../../onnx/onnx_pb.ts';

/** Where keys and values have the number of their tokens: [batch, heads, tokens, head_dim]. */
const CACHED = [2n, -2n];
/** Where token ids and what is made of each have it: [batch, tokens]. */
const NEW = [1n];

/**
 * Finds where an export counts the positions of its tokens itself, instead of being given them: from the
 * length of its cache to that and the number of its tokens, as Optimum's exports of Gemma do.
 * @param logits what the export is for
 * @returns names of such values, int64 [tokens]
 */
export function countedPositions(graph: GraphRewriter, logits: string, inputIds: string): string[] {
  const values = new Lengths(graph, given(inputIds));
  return graph.needed([logits]).flatMap((node) => {
    const [counted = ''] = node.output;
    return counted !== '' && values.isCounted(node) ? [counted] : [];
  });
}

/** Lengths as a graph computes them from the shapes of what it is given. */
class Lengths {
  readonly #graph: GraphRewriter;
  readonly #inputIds: string;

  constructor(graph: GraphRewriter, inputIds: string) {
    this.#graph = graph;
    this.#inputIds = inputIds;
  }

  /** Whether a node counts from the one length to the other, or from 0 and adds the former. */
  isCounted({ opType, input: [a = '', b = '', step = ''] }: NodeProto): boolean {
    if (opType === 'Range') return this.#isPast(a) && this.#isAll(b) && this.#number(step) === 1n;
    if (opType !== 'Add') return false;
    return (this.#isPast(a) && this.#isIndex(b)) || (this.#isPast(b) && this.#isIndex(a));
  }

  /** The places of new tokens, from 0. */
  #isIndex(value: string): boolean {
    const range = this.#graph.producer(this.#plain(value));
    const [start = '', end = '', step = ''] = range?.input ?? [];
    if (range?.opType !== 'Range' || this.#number(step) !== 1n) return false;
    return this.#number(start) === 0n && this.#isNew(end);
  }

  /** The number of tokens in the cache. */
  #isPast(value: string): boolean {
    const measured = this.#measured(value, CACHED) ?? '';
    const node = this.#graph.producer(measured);
    // PyTorch appends a cache to an empty one: a Concat of one value.
    const isAlone = node?.opType === 'Concat' && node.input.length === 1;
    const cache = isAlone ? (node.input[0] ?? '') : measured;
    return cache.startsWith(given('past_key_values.'));
  }

  /** That, and the number of new tokens. */
  #isAll(value: string): boolean {
    const sum = this.#graph.producer(this.#plain(value));
    if (sum?.opType !== 'Add') return false;
    const [a = '', b = ''] = sum.input;
    return (this.#isPast(a) && this.#isNew(b)) || (this.#isPast(b) && this.#isNew(a));
  }

  #number(value: string): bigint | null {
    const constant = this.#graph.constant(value);
    if (constant?.dataType !== DataType.INT64) return null;
    const { rawData, int64Data } = constant;
    if (rawData.byteLength === 0) return int64Data.length === 1 ? (int64Data[0] ?? null) : null;
    if (rawData.byteLength !== BigInt64Array.BYTES_PER_ELEMENT) return null;
    return new DataView(rawData.buffer, rawData.byteOffset).getBigInt64(0, true);
  }

  #isNew(value: string): boolean {
    const measured = this.#measured(value, NEW);
    if (measured === null) return false;
    const scaled = this.#graph.producer(measured);
    // Gemma's embeddings are multiplied by a number.
    const isScaled = scaled?.opType === 'Mul' && this.#isScalar(scaled.input[1] ?? '');
    const embedding = isScaled ? this.#graph.producer(scaled.input[0] ?? '') : scaled;
    const ids = embedding?.opType === 'Gather' ? (embedding.input[1] ?? '') : measured;
    const reshape = this.#graph.producer(ids);
    return [ids, reshape?.opType === 'Reshape' ? reshape.input[0] : ''].includes(this.#inputIds);
  }

  #isScalar(value: string): boolean {
    return this.#graph.constant(value)?.dims.length === 0;
  }

  /** Name of the value whose size in one of some dimensions this is; null if it is none. */
  #measured(value: string, dims: readonly bigint[]): string | null {
    const node = this.#graph.producer(this.#plain(value));
    // Older releases of PyTorch take a size as a slice of one.
    const taken = node?.opType === 'Squeeze' ? this.#graph.producer(node.input[0] ?? '') : node;
    if (taken?.opType !== (node?.opType === 'Squeeze' ? 'Slice' : 'Gather')) return null;
    const [sizes = '', at = '', end = '', axis = ''] = taken?.input ?? [];
    const isOne = this.#number(end) === (this.#number(at) ?? 0n) + 1n && this.#number(axis) === 0n;
    if (taken?.opType === 'Slice' && !isOne) return null;
    const shape = this.#graph.producer(sizes);
    const dim = this.#number(at);
    const isSize = shape?.opType === 'Shape' && shape.attribute.length === 0;
    return isSize && dim !== null && dims.includes(dim) ? (shape.input[0] ?? '') : null;
  }

  /** A value before a cast to int64, the type that sizes have anyway. */
  #plain(value: string): string {
    const node = this.#graph.producer(value);
    const isCast =
      node?.opType === 'Cast' &&
      node.attribute.some(({ name, i }) => name === 'to' && i === BigInt(DataType.INT64));
    return isCast ? (node.input[0] ?? '') : value;
  }
}
