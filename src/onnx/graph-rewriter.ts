import { clone, create, toBinary } from '@bufbuild/protobuf';

import type { ElementType } from './data-type.ts';
import type { Dimension, GraphNodes, NodeOptions } from './graph-nodes.ts';
import { checkedBytes, type InitializerData } from './initializer.ts';
import {
  GraphProtoSchema,
  ModelProtoSchema,
  NodeProtoSchema,
  type GraphProto,
  type ModelProto,
  type NodeProto,
  type TensorProto,
  type ValueInfoProto,
} from './onnx_pb.ts';
import { givenInputs, type ParsedModel } from './parsed-model.ts';
import { inlineTensor, nodeProto, valueInfo } from './protos.ts';

/** Name in a rewritten graph of a value of the original graph; constants keep their names. */
export function given(value: string): string {
  return `given/${value}`;
}

/**
 * Makes a new graph out of the nodes and constants of an existing one: with other inputs and outputs,
 * and without what those need not. Values of the old graph get other names, see `given`, so that none is
 * taken for a new one; its inputs are values that are yet to be made. The model itself is not changed.
 */
export class GraphRewriter implements GraphNodes {
  readonly #model: ModelProto;
  readonly #graphName: string;
  /** By the values that they make. */
  readonly #producers = new Map<string, NodeProto>();
  readonly #initializers: Map<string, TensorProto>;
  readonly #inputs: ValueInfoProto[] = [];
  readonly #outputs: ValueInfoProto[] = [];

  constructor({ model, graph }: ParsedModel) {
    this.#model = model;
    this.#graphName = graph.name;
    this.#initializers = new Map(graph.initializer.map((tensor) => [tensor.name, tensor]));
    const old = new Set([
      ...givenInputs(graph).map(({ name }) => name),
      ...graph.node.flatMap(({ output }) => output),
    ]);
    old.delete('');
    const newName = (value: string) => (old.has(value) ? given(value) : value);
    for (const node of graph.node) {
      const copy = clone(NodeProtoSchema, node);
      renameInputs(copy, newName);
      copy.output = copy.output.map(newName);
      this.#produce(copy);
    }
  }

  /** Adds a graph input. */
  input(name: string, type: ElementType, dims: readonly Dimension[]): string {
    this.#inputs.push(valueInfo(name, type, dims));
    return name;
  }

  /** Declares a value as a graph output. */
  output(name: string, type: ElementType, dims: readonly Dimension[]): void {
    this.#outputs.push(valueInfo(name, type, dims));
  }

  node(name: string, opType: string, inputs: readonly string[], options: NodeOptions = {}): string {
    return this.add(nodeProto(name, opType, inputs, options));
  }

  /** Adds a node; returns the name of its first output. It takes the place of who made that before. */
  add(node: NodeProto): string {
    this.#produce(node);
    return node.output[0] ?? '';
  }

  /** @param data at hand, since these are small ones */
  initializer(
    name: string,
    type: ElementType,
    dims: readonly number[],
    data: InitializerData,
  ): string {
    if (typeof data === 'function') throw new TypeError(`the data of "${name}" is deferred`);
    const initializer = { name, type, dims, data };
    this.#initializers.set(name, inlineTensor(initializer, checkedBytes(initializer, data)));
    return name;
  }

  /** The node that makes a value; undefined for graph inputs and constants. */
  producer(value: string): NodeProto | undefined {
    return this.#producers.get(value);
  }

  /** A constant tensor of the graph, or one that a Constant node makes. */
  constant(value: string): TensorProto | undefined {
    const node = this.#producers.get(value);
    if (node?.opType === 'Constant') return node.attribute.find(({ name }) => name === 'value')?.t;
    return this.#initializers.get(value);
  }

  /** Whether a value depends on what the graph is given. */
  isDynamic(value: string): boolean {
    if (value === '' || this.#initializers.has(value)) return false;
    if (!this.#producers.has(value)) return true;
    return this.needed([value]).some((node) =>
      inputsOf(node).some((input) => !this.#isMade(input)),
    );
  }

  /** The nodes that values need, each after those that it needs itself. */
  needed(values: readonly string[]): NodeProto[] {
    const order = new Set<NodeProto>();
    const open = new Set<NodeProto>();
    // No recursion: big models are thousands of nodes deep.
    const stack = values.flatMap((value) => this.#producers.get(value) ?? []).toReversed();
    for (let node = stack.at(-1); node; node = stack.at(-1)) {
      const missing = open.has(node) || order.has(node) ? [] : this.#producersFor(node, order);
      open.add(node);
      if (missing.length > 0) {
        stack.push(...missing);
        continue;
      }
      stack.pop();
      order.add(node);
    }
    return [...order];
  }

  /**
   * Finds a value that the outputs need and nothing makes, with a node that uses it; null if none is
   * missing.
   */
  missing(): { readonly value: string; readonly node: NodeProto } | null {
    const inputs = new Set(this.#inputs.map(({ name }) => name));
    for (const node of this.#live()) {
      const value = inputsOf(node).find((input) => !inputs.has(input) && !this.#isMade(input));
      if (value !== undefined) return { value, node };
    }
    return null;
  }

  /** The constants that the outputs need. */
  usedInitializers(): TensorProto[] {
    const used = new Set(this.#live().flatMap(inputsOf));
    return [...this.#initializers.values()].filter(({ name }) => used.has(name));
  }

  /** @param stored in place of initializers of the same names */
  toBytes(stored: ReadonlyMap<string, TensorProto> = new Map()): Uint8Array {
    const { irVersion, producerName, producerVersion, opsetImport, metadataProps } = this.#model;
    const graph = create(GraphProtoSchema, {
      name: this.#graphName,
      input: this.#inputs,
      output: this.#outputs,
      node: this.#live(),
      initializer: this.usedInitializers().map((tensor) => stored.get(tensor.name) ?? tensor),
    });
    const model = create(ModelProtoSchema, {
      irVersion,
      producerName,
      producerVersion,
      opsetImport,
      metadataProps,
      graph,
    });
    // Functions of the model's own are among them.
    if (this.#model.$unknown) model.$unknown = this.#model.$unknown;
    return toBinary(ModelProtoSchema, model);
  }

  #live(): NodeProto[] {
    return this.needed(this.#outputs.map(({ name }) => name));
  }

  #producersFor(node: NodeProto, but: ReadonlySet<NodeProto>): NodeProto[] {
    const producers = inputsOf(node).flatMap((input) => this.#producers.get(input) ?? []);
    return producers.filter((producer) => !but.has(producer)).toReversed();
  }

  #isMade(value: string): boolean {
    return value === '' || this.#producers.has(value) || this.#initializers.has(value);
  }

  #produce(node: NodeProto): void {
    for (const output of node.output) if (output !== '') this.#producers.set(output, node);
  }
}

/** Renames what a node and the graphs inside of it read. */
function renameInputs(node: NodeProto, newName: (value: string) => string): void {
  node.input = node.input.map(newName);
  for (const { g, graphs } of node.attribute) {
    for (const graph of g ? [g, ...graphs] : graphs) {
      for (const inner of graph.node) renameInputs(inner, newName);
    }
  }
}

/** Values that a node reads, by itself or in its subgraphs. */
export function inputsOf(node: NodeProto): string[] {
  const inner = node.attribute.flatMap(({ g, graphs }) => (g ? [g, ...graphs] : graphs));
  return [...node.input, ...inner.flatMap(capturedBy)];
}

/** Values that a subgraph takes from the graph around it. */
function capturedBy({ node, input, initializer, output }: GraphProto): string[] {
  const own = new Set([
    ...input.map(({ name }) => name),
    ...initializer.map(({ name }) => name),
    ...node.flatMap((each) => each.output),
  ]);
  const read = [...node.flatMap(inputsOf), ...output.map(({ name }) => name)];
  return read.filter((value) => !own.has(value));
}
