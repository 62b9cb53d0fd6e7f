import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { toBinary } from '@bufbuild/protobuf';
import type { PagedBatch } from '../../src/engine/gpu/paged/paged-batch.ts';
import type { PageMove, PagedModel } from '../../src/engine/gpu/paged/paged-decoder.ts';
import type { Segment, SegmentLogits } from '../../src/engine/step.ts';
import type { DecoderConfig } from '../../src/model/huggingface/config.ts';
import {
  float16ToFloat32,
  float32ToFloat16,
} from '../../src/model/huggingface/float-conversion.ts';
import { rotaryTables } from '../../src/model/graph/rope.ts';
import { ModelProtoSchema } from '../../src/onnx/onnx_pb.ts';
import { parseModel } from '../../src/onnx/parsed-model.ts';
import { valueInfo } from '../../src/onnx/protos.ts';
import { IoBinding } from '../../src/ort/io-binding.ts';
import { Session } from '../../src/ort/session.ts';
import { Tensor } from '../../src/ort/tensor.ts';
import { type PageCache, pagedAttention, type Rotary } from './paged-attention-reference.ts';

/**
 * The paged decoder graph where no provider has a kernel for PagedAttention: those nodes are cut out,
 * and computed in plain loops, with caches of float32. A run then takes one pass through the graph per
 * layer, each with one more layer's attention known.
 */
export class CpuPagedModel implements PagedModel {
  readonly pageLength: number;
  readonly vocabSize: number;
  #logits: readonly Float32Array[] = [];
  readonly #session: Session;
  readonly #config: DecoderConfig;
  readonly #rotary: Rotary;
  readonly #caches: readonly PageCache[];
  readonly #cuts: readonly Cut[];
  readonly #type: 'float' | 'float16';

  /** @param type of the graph's activations */
  constructor(
    graphPath: string,
    config: DecoderConfig,
    { numPages, pageLength }: { readonly numPages: number; readonly pageLength: number },
    type: 'float' | 'float16' = 'float',
  ) {
    const { path, cuts } = cutAttention(graphPath, config, type);
    this.#type = type;
    this.pageLength = pageLength;
    this.vocabSize = config.vocabSize;
    this.#session = new Session(path);
    this.#config = config;
    this.#rotary = rotaryTables(config, config.maxPositionEmbeddings);
    const size = numPages * pageLength * config.numKvHeads * config.headDim;
    // Values not to be read are not numbers.
    const memory = () => new Float32Array(size).fill(NaN);
    this.#caches = cuts.map(() => ({ pageLength, keys: memory(), values: memory() }));
    this.#cuts = cuts;
  }

  run(batch: PagedBatch): void {
    const { numHeads, numKvHeads, headDim, vocabSize } = this.#config;
    const numTokens = batch.tokenIds.length;
    const numWanted = batch.logitsIndex.length;
    const logits = new Float32Array(numWanted * vocabSize);
    const memory = (width: number): Activations =>
      this.#type === 'float' ? new Float32Array(width) : new Uint16Array(width);
    const attended = this.#cuts.map(() => memory(numTokens * numHeads * headDim));
    const projected = this.#cuts.map(() =>
      memory(numTokens * (numHeads + 2 * numKvHeads) * headDim),
    );
    const binding = new IoBinding(this.#session);
    const tokenIds = BigInt64Array.from(batch.tokenIds, BigInt);
    const logitsIndex = BigInt64Array.from(batch.logitsIndex, BigInt);
    const ids = Tensor.over('int64', [numTokens], tokenIds);
    const index = Tensor.over('int64', [numWanted], logitsIndex);
    const out = Tensor.over('float', [numWanted, vocabSize], logits);
    const handles: { release(): void }[] = [ids, index, out];
    binding.bindInput('input_ids', ids);
    binding.bindInput('logits_index', index);
    binding.bindOutput('logits', out);
    for (const [layer, { qkv, attended: name }] of this.#cuts.entries()) {
      const [given, wanted] = [attended[layer], projected[layer]];
      if (!given || !wanted) throw new Error('a layer is missing');
      const input = overActivations([numTokens, given.length / numTokens], given);
      const output = overActivations([numTokens, wanted.length / numTokens], wanted);
      handles.push(input, output);
      binding.bindInput(name, input);
      binding.bindOutput(qkv, output);
    }
    for (const [layer, cache] of this.#caches.entries()) {
      this.#session.run(binding);
      const qkv = toFloat32(projected[layer] ?? new Float32Array());
      const result = pagedAttention(this.#config, qkv, batch, cache, this.#rotary);
      attended[layer]?.set(this.#type === 'float' ? result : float32ToFloat16(result));
    }
    this.#session.run(binding);
    for (const handle of handles) handle.release();
    this.#logits = Array.from(batch.logitsIndex, (_, row) =>
      logits.subarray(row * vocabSize, (row + 1) * vocabSize),
    );
  }

  read(segments: readonly Segment[]): SegmentLogits[] {
    let row = 0;
    return segments.map((segment) => {
      const logits = Array.from(
        { length: segment.numLogits },
        () => this.#logits[row++] ?? new Float32Array(),
      );
      return { segment, logits };
    });
  }

  copyPages(copies: readonly PageMove[]): void {
    const width = this.pageLength * this.#config.numKvHeads * this.#config.headDim;
    for (const memory of this.#caches.flatMap(({ keys, values }) => [keys, values])) {
      const read = copies.map(({ from }) => memory.slice(from * width, (from + 1) * width));
      for (const [index, { to }] of copies.entries()) memory.set(read[index] ?? [], to * width);
    }
  }

  release(): void {
    this.#session.release();
  }
}

/** float32, or float16 as bits. */
type Activations = Float32Array<ArrayBuffer> | Uint16Array<ArrayBuffer>;

function overActivations(shape: readonly number[], data: Activations): Tensor {
  return data instanceof Float32Array
    ? Tensor.over('float', shape, data)
    : Tensor.over('float16', shape, data);
}

function toFloat32(data: Activations): Float32Array {
  if (data instanceof Float32Array) return data;
  const values = new Float32Array(data.length);
  float16ToFloat32(data, values);
  return values;
}

/** Where a layer's attention was: what it took, and what it gave. */
interface Cut {
  readonly qkv: string;
  readonly attended: string;
}

/** Writes the graph without PagedAttention beside the one with it. */
function cutAttention(
  graphPath: string,
  config: DecoderConfig,
  type: 'float' | 'float16',
): { path: string; cuts: Cut[] } {
  const { numHeads, numKvHeads, headDim } = config;
  const { model, graph } = parseModel(readFileSync(graphPath));
  const isAttention = ({ opType }: { opType: string }) => opType === 'PagedAttention';
  const cuts = graph.node.filter(isAttention).map(({ input, output }): Cut => {
    const [[qkv = ''], [attended = '']] = [input, output];
    return { qkv, attended };
  });
  graph.node = graph.node.filter((node) => !isAttention(node));
  const isKept = ({ name }: { name: string }) =>
    ['input_ids', 'logits_index', 'logits'].includes(name);
  const width = { qkv: (numHeads + 2 * numKvHeads) * headDim, attended: numHeads * headDim };
  graph.input = [
    ...graph.input.filter(isKept),
    ...cuts.map(({ attended }) => valueInfo(attended, type, ['tokens', width.attended])),
  ];
  graph.output = [
    ...graph.output.filter(isKept),
    ...cuts.map(({ qkv }) => valueInfo(qkv, type, ['tokens', width.qkv])),
  ];
  const path = join(dirname(graphPath), 'paged-without-attention.onnx');
  writeFileSync(path, toBinary(ModelProtoSchema, model));
  return { path, cuts };
}
