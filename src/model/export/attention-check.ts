import { GraphBuilder, MICROSOFT_DOMAIN } from '../../onnx/graph-builder.ts';
import { given, GraphRewriter, inputsOf } from '../../onnx/graph-rewriter.ts';
import { givenInputs, type ParsedModel } from '../../onnx/parsed-model.ts';
import type { Tensor } from '../../ort/tensor.ts';
import { ModelError } from '../model-error.ts';
import { cast } from '../quantize/float-matrix.ts';
import type { FloatType } from '../quantize/weight-format.ts';
import {
  type AttentionForm,
  type AttentionShape,
  type AttentionTrial,
  attentionTrial,
  lastProduct,
  headsFirst,
} from './attention-trial.ts';
import type { PlainAttention } from './plain-attention.ts';
import { reasonOf } from '../../files/system-error.ts';

/** An export, as far as it matters to its attention. */
export interface CheckedExport {
  readonly parsed: ParsedModel;
  /** Name of the export in errors. */
  readonly origin: string;
  readonly shape: AttentionShape;
  readonly type: FloatType;
  /** Name of its input of token ids. */
  readonly inputIds: string;
  readonly maxPositions: number;
  /** It has another graph for several tokens: this one may have no mask for these. */
  readonly isForOneToken: boolean;
}

/** How far results may be apart, against the largest. */
const TOLERANCE: Readonly<Record<FloatType, number>> = { float: 1e-4, float16: 1e-2 };
/** Scores below are masks: those of a trial are near to 0. */
const MASKED = -1e4;
/** Size of a layer's keys in the longest trial: positions after these are not served. */
const TRIAL_BYTES = 64 * 2 ** 20;

/**
 * Finds out how GroupQueryAttention computes what a layer's attention computes, by running both on the
 * same random values: a few tokens, one token after as many as there may be, and where that sees a window, a few
 * at its end.
 * @returns also the number of positions that were tried
 * @throws {ModelError} naming the node, if it computes something else
 */
export async function checkAttention(
  exported: CheckedExport,
  attention: PlainAttention,
): Promise<AttentionForm & { readonly maxPositions: number }> {
  const { shape, type, maxPositions } = exported;
  const held = Math.floor(TRIAL_BYTES / (4 * shape.numKvHeads * shape.headDim));
  const longest = Math.min(maxPositions, held);
  const plain = plainGraph(exported, attention);
  let form: AttentionForm = { scale: scaleAttribute(attention, shape), window: null };
  const several = exported.isForOneToken ? 1 : 8;
  const trials: [number, number][] = [
    [longest - 1, 1],
    [0, several],
  ];
  // Some exports have no mask for several tokens after others.
  for (const [past, added] of trials) {
    const trial = attentionTrial(shape, past, added);
    try {
      const own = await runPlain(plain, trial, exported, attention);
      if (own.scores !== null && past === longest - 1) {
        form = formOf(own.scores.subarray(0, longest), trial, shape);
        if (form.window !== null) trials.push([Math.max(0, form.window - 4), several]);
      }
      const grouped = await runGrouped(groupedGraph(shape, form), trial, shape);
      if (deviation(own.attended, grouped) < TOLERANCE[type]) continue;
    } catch (error) {
      throw refusal(exported.origin, attention, `can't be tried: ${reasonOf(error)}`, error);
    }
    throw refusal(
      exported.origin,
      attention,
      'is not what GroupQueryAttention computes: it has a mask, a bias or a limit of its own',
    );
  }
  return { ...form, maxPositions: longest };
}

/** @param scores of the first head's one query with all keys */
function formOf(scores: Float32Array, trial: AttentionTrial, shape: AttentionShape): AttentionForm {
  const hidden = scores.findLastIndex((score) => score < MASKED) + 1;
  const window = hidden === 0 ? null : scores.length - hidden;
  const scale = (scores.at(-1) ?? NaN) / lastProduct(trial, shape);
  return { scale, window };
}

function refusal(
  origin: string,
  { node }: PlainAttention,
  why: string,
  cause?: unknown,
): ModelError {
  return new ModelError(`${origin}: the attention around ${node.opType} ${node.name} ${why}`, {
    cause,
  });
}

/** Scale of a fused operator; one over the root of head_dim if it states none. */
function scaleAttribute({ node }: PlainAttention, { headDim }: AttentionShape): number {
  return node.attribute.find(({ name }) => name === 'scale')?.f || headDim ** -0.5;
}

/** Inputs of a trial's graphs. */
const NEW = ['query', 'key', 'value'] as const;
const PAST = ['pastKey', 'pastValue'] as const;

interface PlainGraph {
  readonly bytes: Uint8Array;
  /** Inputs of the export that it reads besides. */
  readonly others: readonly string[];
}

/** The part of an export that is a layer's attention. */
function plainGraph(
  { parsed, origin, type, inputIds }: CheckedExport,
  attention: PlainAttention,
): PlainGraph {
  const graph = new GraphRewriter(parsed);
  const dims = attention.isPacked ? ['one', 'added', 'width'] : ['one', 'heads', 'added', 'dims'];
  for (const name of NEW) {
    graph.input(name, 'float', dims);
    cast(graph, given(attention[name]), name, type);
  }
  for (const name of PAST) {
    graph.input(name, 'float', ['one', 'kv_heads', 'past', 'dims']);
    cast(graph, given(attention[name]), name, type);
  }
  const wanted = [given(attention.output)];
  const [scores = ''] = attention.node.opType === 'Softmax' ? attention.node.input : [];
  if (scores !== '') wanted.push(given(scores));
  const read = new Set(graph.needed(wanted).flatMap(inputsOf));
  const others: string[] = [];
  for (const { name } of givenInputs(parsed.graph)) {
    if (!read.has(given(name)) || graph.producer(given(name)) !== undefined) continue;
    others.push(name);
    if (name.startsWith('past_key_values.')) {
      graph.input(name, 'float', ['one', 'kv_heads', 'past', 'dims']);
      cast(graph, given(name), name, type);
    } else if ([inputIds, 'attention_mask', 'position_ids'].includes(name)) {
      graph.input(name, 'int64', ['one', name]);
      graph.node(given(name), 'Identity', [name]);
    } else {
      throw refusal(origin, attention, `reads ${name}, which is not supported`);
    }
  }
  cast(graph, 'attended', given(attention.output), 'float');
  graph.output('attended', 'float', dims);
  if (scores !== '') {
    cast(graph, 'scores', given(scores), 'float');
    graph.output('scores', 'float', ['one', 'heads', 'added', 'all']);
  }
  return { bytes: graph.toBytes(), others };
}

function groupedGraph(
  { numHeads, numKvHeads, headDim }: AttentionShape,
  { scale, window }: AttentionForm,
): Uint8Array {
  const graph = new GraphBuilder('trial');
  for (const name of NEW) {
    const heads = name === 'query' ? numHeads : numKvHeads;
    graph.input(name, 'float', [1, 'added', heads * headDim]);
  }
  for (const name of PAST) graph.input(name, 'float', [1, numKvHeads, 'past', headDim]);
  graph.input('seqlens_k', 'int32', [1]);
  graph.input('total_sequence_length', 'int32', []);
  graph.node(
    'attended',
    'GroupQueryAttention',
    [...NEW, ...PAST, 'seqlens_k', 'total_sequence_length'],
    {
      domain: MICROSOFT_DOMAIN,
      outputs: ['attended', 'present_key', 'present_value'],
      attributes: {
        num_heads: BigInt(numHeads),
        kv_num_heads: BigInt(numKvHeads),
        scale,
        local_window_size: BigInt(window ?? -1),
      },
    },
  );
  graph.output('attended', 'float', [1, 'added', numHeads * headDim]);
  return graph.toBytes();
}

/** @returns what it gives, packed, and its scores before the softmax */
async function runPlain(
  { bytes, others }: PlainGraph,
  trial: AttentionTrial,
  { shape, inputIds }: CheckedExport,
  { isPacked, node }: PlainAttention,
): Promise<{ attended: Float32Array; scores: Float32Array | null }> {
  const { past, added } = trial;
  const { numHeads, numKvHeads, headDim } = shape;
  const floats: Floats[] = NEW.map((name) => {
    const heads = name === 'query' ? numHeads : numKvHeads;
    if (isPacked) return [name, [1, added, heads * headDim], trial[name]];
    return [name, [1, heads, added, headDim], headsFirst(trial[name], added, heads)];
  });
  const cacheDims = [1, numKvHeads, past, headDim];
  for (const name of PAST) floats.push([name, cacheDims, trial[name]]);
  const integers: Integers[] = [];
  for (const name of others) {
    if (name === 'attention_mask') {
      integers.push([name, [1, past + added], new BigInt64Array(past + added).fill(1n)]);
    } else if (name === 'position_ids') {
      const ids = BigInt64Array.from({ length: added }, (_, index) => BigInt(past + index));
      integers.push([name, [1, added], ids]);
    } else if (name === inputIds) {
      integers.push([name, [1, added], new BigInt64Array(added)]);
    } else {
      floats.push([name, cacheDims, new Float32Array(numKvHeads * past * headDim)]);
    }
  }
  const outputs = node.opType === 'Softmax' ? ['attended', 'scores'] : ['attended'];
  const [attended = new Float32Array(), scores] = await run(bytes, floats, integers, outputs);
  return {
    attended: isPacked ? attended : headsFirst(attended, numHeads, added),
    scores: scores ?? null,
  };
}

async function runGrouped(
  bytes: Uint8Array,
  trial: AttentionTrial,
  { numKvHeads, headDim }: AttentionShape,
): Promise<Float32Array> {
  const { past, added } = trial;
  const floats = [
    ...NEW.map((name): Floats => [name, [1, added, trial[name].length / added], trial[name]]),
    ...PAST.map((name): Floats => [name, [1, numKvHeads, past, headDim], trial[name]]),
  ];
  const total = past + added;
  const lengths: Integers[] = [
    ['seqlens_k', [1], Int32Array.of(total - 1)],
    ['total_sequence_length', [], Int32Array.of(total)],
  ];
  const [attended = new Float32Array()] = await run(bytes, floats, lengths, ['attended']);
  return attended;
}

type Floats = readonly [name: string, shape: readonly number[], data: Float32Array];
type Integers = readonly [name: string, shape: readonly number[], data: BigInt64Array | Int32Array];

/** Not a static import: the library is only for exports with such attention. */
async function run(
  model: Uint8Array,
  floats: readonly Floats[],
  integers: readonly Integers[],
  outputs: readonly string[],
): Promise<Float32Array[]> {
  const { Session } = await import('../../ort/session.ts');
  const ort = await import('../../ort/tensor.ts');
  const { runForOutputs } = await import('../../ort/run-for-outputs.ts');
  const inputs = new Map<string, Tensor>();
  const session = new Session(model, { intraOpThreads: 1 });
  try {
    for (const [name, shape, data] of floats) {
      inputs.set(name, ort.Tensor.over('float', shape, data as Float32Array<ArrayBuffer>));
    }
    for (const [name, shape, data] of integers) {
      const tensor =
        data instanceof Int32Array
          ? ort.Tensor.over('int32', shape, data as Int32Array<ArrayBuffer>)
          : ort.Tensor.over('int64', shape, data as BigInt64Array<ArrayBuffer>);
      inputs.set(name, tensor);
    }
    return runForOutputs(session, inputs, outputs).map((tensor) => {
      if (!(tensor instanceof ort.Tensor) || tensor.type !== 'float') {
        throw new TypeError('a result is not float32');
      }
      const values = new Float32Array(tensor.data as Float32Array);
      tensor.release();
      return values;
    });
  } finally {
    for (const tensor of inputs.values()) tensor.release();
    session.release();
  }
}

function deviation(actual: Float32Array, expected: Float32Array): number {
  if (actual.length !== expected.length) return Infinity;
  const largest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  return (
    actual.reduce(
      (most, value, index) => Math.max(most, Math.abs(value - (expected[index] ?? NaN))),
      0,
    ) / largest
  );
}
