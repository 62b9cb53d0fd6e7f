import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { create, toBinary } from '@bufbuild/protobuf';
import { writeFileSync } from 'node:fs';
import { openGraph } from '../../src/engine/graph-session.ts';
import type { EngineRequest, PromptEmbeddings } from '../../src/engine/request.ts';
import type { BuiltModel } from '../../src/model/manifest.ts';
import { GraphProtoSchema, ModelProtoSchema, type NodeProto } from '../../src/onnx/onnx_pb.ts';
import { parseModel } from '../../src/onnx/parsed-model.ts';
import { valueInfo } from '../../src/onnx/protos.ts';
import { runForOutputs } from '../../src/ort/run-for-outputs.ts';
import { Tensor } from '../../src/ort/tensor.ts';

/** Embeddings of all tokens, as a model's own graph has them where others take their place. */
export interface TokenRows {
  readonly width: number;
  /** Rows of tokens, one after the other. */
  of(tokenIds: Iterable<number>): Float32Array<ArrayBuffer>;
}

/** @param model that takes embeddings */
export async function tokenRows(model: BuiltModel): Promise<TokenRows> {
  const { model: file, graph } = parseModel(await readFile(model.graphPath));
  const placed = graph.node.find(({ opType }) => opType === 'ScatterND');
  const wanted = placed?.input[0] ?? '';
  const needed = new Set([wanted]);
  const nodes: NodeProto[] = [];
  for (const node of graph.node.toReversed()) {
    if (!node.output.some((name) => needed.has(name))) continue;
    nodes.unshift(node);
    for (const name of node.input) needed.add(name);
  }
  const part = create(GraphProtoSchema, {
    name: 'rows',
    node: nodes,
    initializer: graph.initializer.filter(({ name }) => needed.has(name)),
    input: graph.input.filter(({ name }) => needed.has(name)),
    output: [valueInfo(wanted, 'float', ['tokens', 'hidden'])],
  });
  const path = join(dirname(model.graphPath), 'rows.onnx');
  writeFileSync(path, toBinary(ModelProtoSchema, { ...file, graph: part }));
  const session = openGraph(path, model);
  const { vocabSize } = model.manifest;
  const ids = BigInt64Array.from({ length: vocabSize }, (_, id) => BigInt(id));
  const given = Tensor.over('int64', [1, vocabSize], ids);
  const [made] = runForOutputs(session, new Map([['input_ids', given]]), [wanted]);
  if (!(made instanceof Tensor) || !(made.data instanceof Float32Array)) {
    throw new TypeError('embeddings are float32');
  }
  const rows = new Float32Array(made.data);
  const width = rows.length / vocabSize;
  for (const tensor of [given, made]) tensor.release();
  session.release();
  return {
    width,
    of(tokenIds) {
      const parts = Array.from(tokenIds, (id) => rows.subarray(id * width, (id + 1) * width));
      const all = new Float32Array(parts.length * width);
      for (const [at, row] of parts.entries()) all.set(row, at * width);
      return all;
    },
  };
}

/** Part of a prompt. */
export interface Stretch {
  readonly start: number;
  readonly length: number;
}

/** The same prompt with embeddings in place of some of its tokens. @param stretches ascending and apart */
export function embeddedPrompt(
  promptTokenIds: Int32Array,
  stretches: readonly Stretch[],
  rows: TokenRows,
): Pick<EngineRequest, 'promptTokenIds' | 'embeddings'> {
  const ids = promptTokenIds.slice();
  const embeddings = stretches.map(({ start, length }): PromptEmbeddings => {
    const own = rows.of(promptTokenIds.subarray(start, start + length));
    ids.set(idsOf(own, length), start);
    return { start, rows: own };
  });
  return { promptTokenIds: ids, embeddings };
}

/** Ids below 0, drawn from the content. */
export function idsOf(rows: Float32Array, count: number): Int32Array {
  const digest = createHash('sha256').update(rows).digest();
  return Int32Array.from(
    { length: count },
    (_, at) =>
      createHash('sha256').update(digest).update(`${at}`).digest().readInt32LE() | -(2 ** 31),
  );
}
