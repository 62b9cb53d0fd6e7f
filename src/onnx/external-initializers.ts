import { readFileSync } from 'node:fs';

import { joinUntrusted } from '../files/untrusted-path.ts';
import type { GraphProto, TensorProto } from './onnx_pb.ts';
import { type ParsedModel, parseModel } from './parsed-model.ts';
import { isExternal } from './protos.ts';
import { meaningOf } from '../files/system-error.ts';

/** A constant tensor of a graph whose bytes are in a separate file. */
export interface ExternalInitializer {
  readonly name: string;
  /** ONNX's number for the element type. */
  readonly dataType: number;
  readonly dims: readonly number[];
  /** Absolute path of the file, and where the bytes begin in it. */
  readonly path: string;
  readonly byteOffset: number;
}

/** An initializer and what reads it. */
export interface UsedInitializer extends ExternalInitializer {
  /** Types of the graph's nodes that have it as an input, those of graphs inside of nodes left out. */
  readonly usedBy: ReadonlySet<string>;
}

/**
 * The initializers that a graph file keeps elsewhere.
 * @param folder of the files that it keeps them in
 * @throws Error when the file can't be read, holds no graph, or says nonsense of a tensor's place
 * @throws UntrustedPathError when a file is not in the folder
 */
export function readExternalInitializers(graphPath: string, folder: string): UsedInitializer[] {
  const { graph } = readGraph(graphPath);
  const users = new Map<string, Set<string>>();
  for (const { opType, input } of graph.node) {
    for (const name of input) users.set(name, (users.get(name) ?? new Set()).add(opType));
  }
  return graph.initializer.filter(isExternal).map((tensor) => ({
    ...externalPlace(tensor, folder, graphPath),
    usedBy: users.get(tensor.name) ?? new Set(),
  }));
}

function readGraph(path: string): ParsedModel {
  try {
    return parseModel(readFileSync(path));
  } catch (error) {
    throw new Error(`${path} can't be read: ${meaningOf(error)}`, { cause: error });
  }
}

/**
 * The files that any tensor of a graph lies in, those of graphs inside of its nodes included.
 * @returns by their absolute paths, how many bytes they have at least, as far as tensors show
 * @throws as readExternalInitializers
 */
export function externalFiles(
  graph: GraphProto,
  folder: string,
  origin: string,
): Map<string, number> {
  const files = new Map<string, number>();
  // No recursion: who made the graph may have put one into the other without an end.
  const graphs = [graph];
  for (let each = graphs.pop(); each; each = graphs.pop()) {
    const attributes = each.node.flatMap(({ attribute }) => attribute);
    const tensors = [
      ...each.initializer,
      ...attributes.flatMap(({ t, tensors: more }) => (t ? [t, ...more] : more)),
    ];
    for (const tensor of tensors.filter(isExternal)) {
      const { path, byteOffset } = externalPlace(tensor, folder, origin);
      const length = Number(tensor.externalData.find(({ key }) => key === 'length')?.value ?? 0);
      files.set(path, Math.max(files.get(path) ?? 0, byteOffset + length));
    }
    for (const { g, graphs: several } of attributes) graphs.push(...(g ? [g] : []), ...several);
  }
  return files;
}

/** Where the bytes of a tensor are that is external. @throws as readExternalInitializers */
export function externalPlace(
  { name, dataType, dims: sizes, externalData }: TensorProto,
  folder: string,
  origin: string,
): ExternalInitializer {
  const entries = new Map(externalData.map(({ key, value }) => [key, value]));
  const path = joinUntrusted(folder, entries.get('location') ?? '', origin);
  const dims = sizes.map(Number);
  const byteOffset = Number(entries.get('offset') ?? 0);
  if (![byteOffset, ...dims].every((value) => Number.isSafeInteger(value) && value >= 0)) {
    throw new Error(`${origin}: tensor "${name}" has no valid place and shape`);
  }
  return { name, dataType, dims, path, byteOffset };
}
