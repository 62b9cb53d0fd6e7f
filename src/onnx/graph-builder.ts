import { create, toBinary } from '@bufbuild/protobuf';
import { writeFile } from 'node:fs/promises';
import { basename } from 'node:path';

import type { ElementType } from './data-type.ts';
import type { Dimension, GraphNodes, NodeOptions } from './graph-nodes.ts';
import { type ExternalSpan, ExternalDataWriter } from './external-data.ts';
import {
  checkedBytes,
  initializerByteLength,
  initializerBytes,
  type Initializer,
  type InitializerData,
  madeInOrder,
} from './initializer.ts';
import {
  GraphProtoSchema,
  ModelProtoSchema,
  type NodeProto,
  type TensorProto,
  type ValueInfoProto,
} from './onnx_pb.ts';
import { externalTensor, inlineTensor, nodeProto, valueInfo } from './protos.ts';

/** Domain of ONNX Runtime's own operators. */
export const MICROSOFT_DOMAIN = 'com.microsoft';
/** Domain of the operators in native/. */
export const NATIVE_DOMAIN = 'chairlift';

const IR_VERSION = 10n;
const OPSET_VERSION = 21n;
const MICROSOFT_OPSET_VERSION = 1n;
const NATIVE_OPSET_VERSION = 1n;

/** Tensors up to this many bytes are stored in the graph file itself. */
export const MAX_INLINE_BYTES = 4096;

/** The initializers of a graph that was written, by name. */
export interface ExternalData {
  readonly fileName: string;
  /** In that file. */
  readonly spans: ReadonlyMap<string, ExternalSpan>;
  /** In the graph itself. */
  readonly inline: ReadonlyMap<string, Uint8Array>;
}

/** A value that a graph is given, or gives. */
export interface GraphValue {
  readonly name: string;
  readonly type: ElementType;
  readonly dims: readonly Dimension[];
}

/** Called as bytes of external data are written; `name` is the initializer just written. */
export type WriteProgress = (bytesWritten: number, bytesTotal: number, name: string) => void;

/**
 * Builds an ONNX model. Values are named by strings, as in ONNX itself: every method that makes a
 * value returns its name, for use as an input of later nodes.
 */
export class GraphBuilder implements GraphNodes {
  readonly #name: string;
  readonly #inputs: ValueInfoProto[] = [];
  readonly #outputs: ValueInfoProto[] = [];
  readonly #nodes: NodeProto[] = [];
  readonly #initializers: Initializer[] = [];
  readonly #names = new Set<string>();

  constructor(name: string) {
    this.#name = name;
  }

  /** Adds a graph input; returns its name. */
  input(name: string, type: ElementType, dims: readonly Dimension[]): string {
    this.#define(name);
    this.#inputs.push(valueInfo(name, type, dims));
    return name;
  }

  /** Declares the value `name`, which a node must make, as a graph output. */
  output(name: string, type: ElementType, dims: readonly Dimension[]): void {
    this.#outputs.push(valueInfo(name, type, dims));
  }

  /**
   * Adds a constant tensor; returns its name. `data` is either at hand or a function that makes
   * it when the model is written, so that big weights need not be in memory together.
   * @param onUsed see Initializer
   */
  initializer(
    name: string,
    type: ElementType,
    dims: readonly number[],
    data: InitializerData,
    onUsed?: () => void,
  ): string {
    this.#define(name);
    const initializer: Initializer = { name, type, dims, data, onUsed };
    if (typeof data !== 'function') {
      checkedBytes(initializer, data);
    }
    this.#initializers.push(initializer);
    return name;
  }

  /**
   * Adds a node; returns the name of its first output. An empty string among the inputs leaves
   * out an optional one. Nodes must be added in an order in which inputs come before their use.
   * @throws {Error} if an input is not defined yet, or an output already is
   */
  node(
    name: string,
    opType: string,
    inputs: readonly string[],
    { outputs = [name], domain = '', attributes = {} }: NodeOptions = {},
  ): string {
    const [first] = outputs;
    if (first === undefined) {
      throw new Error(`node "${name}" has no output`);
    }
    const missing = inputs.find((input) => input !== '' && !this.#names.has(input));
    if (missing !== undefined) {
      throw new Error(`node "${name}" uses "${missing}" before it is defined`);
    }
    for (const output of outputs) {
      if (output !== '') {
        this.#define(output);
      }
    }
    this.#nodes.push(nodeProto(name, opType, inputs, { outputs, domain, attributes }));
    return first;
  }

  /**
   * The part of this graph that makes some values out of others, as a graph of its own. Inputs of this
   * graph that it needs are its inputs, too.
   * @param inputs values of this graph that the part is given
   * @param outputs values that it makes
   */
  part(inputs: readonly GraphValue[], outputs: readonly GraphValue[]): GraphBuilder {
    const part = new GraphBuilder(this.#name);
    for (const { name, type, dims } of inputs) part.input(name, type, dims);
    const needed = new Set(outputs.map(({ name }) => name));
    const nodes: NodeProto[] = [];
    for (const node of this.#nodes.toReversed()) {
      const isNeeded = node.output.some((name) => needed.has(name) && !part.#names.has(name));
      if (!isNeeded) continue;
      nodes.push(node);
      for (const name of node.input) if (name !== '') needed.add(name);
    }
    for (const input of this.#inputs) {
      if (!needed.has(input.name) || part.#names.has(input.name)) continue;
      part.#define(input.name);
      part.#inputs.push(input);
    }
    for (const initializer of this.#initializers) {
      if (!needed.has(initializer.name)) continue;
      part.#define(initializer.name);
      part.#initializers.push(initializer);
    }
    for (const node of nodes.toReversed()) {
      for (const name of node.output) if (name !== '') part.#define(name);
      part.#nodes.push(node);
    }
    for (const { name, type, dims } of outputs) part.output(name, type, dims);
    return part;
  }

  /**
   * The whole model in one piece, with every initializer inside.
   * @throws {Error} if an initializer's data is deferred: such a model must be written to files
   */
  toBytes(): Uint8Array {
    return this.#serialize(
      this.#initializers.map((initializer) => {
        if (typeof initializer.data === 'function') {
          throw new TypeError(
            `the data of initializer "${initializer.name}" is deferred: use write()`,
          );
        }
        return inlineTensor(initializer, checkedBytes(initializer, initializer.data));
      }),
    );
  }

  /**
   * Writes the model to `graphPath`, and all but its smallest initializers to one external data
   * file `graphPath + ".data"`, in order. Both files are flushed to the disk.
   * @param bytesAhead of deferred initializers that are made together, besides the one that is waited for
   * @param shared big initializers that another graph has written to the same folder: they stay there
   * @returns what the data file holds
   */
  async write(
    graphPath: string,
    onProgress?: WriteProgress,
    bytesAhead = 0,
    shared: ExternalData | null = null,
  ): Promise<ExternalData> {
    const dataPath = `${graphPath}.data`;
    const tensors: TensorProto[] = [];
    const own = this.#initializers.filter((initializer) => {
      const span = shared?.spans.get(initializer.name);
      if (!shared || span?.length !== externalBytes(initializer)) return true;
      tensors.push(externalTensor(initializer, shared.fileName, span));
      return false;
    });
    const total = own.reduce((sum, item) => sum + externalBytes(item), 0);
    const spans = new Map<string, ExternalSpan>();
    const inline = new Map<string, Uint8Array>();
    const data = await ExternalDataWriter.create(dataPath);
    try {
      let done = 0;
      for await (const { initializer, bytes } of madeInOrder(own, bytesAhead)) {
        if (externalBytes(initializer) === 0) {
          const kept = bytes.slice();
          inline.set(initializer.name, kept);
          tensors.push(inlineTensor(initializer, kept));
          continue;
        }
        const span = await data.append(bytes);
        spans.set(initializer.name, span);
        tensors.push(externalTensor(initializer, basename(dataPath), span));
        done += span.length;
        onProgress?.(done, total, initializer.name);
      }
      await data.sync();
    } finally {
      await data.close();
    }
    await writeFile(graphPath, this.#serialize(tensors), { flush: true });
    return { fileName: basename(dataPath), spans, inline };
  }

  /**
   * Writes the model to `graphPath`, its initializers being those of the same names that another graph has
   * written to the same folder.
   * @throws {Error} if a big one of them is not there
   */
  async writeSharing({ fileName, spans, inline }: ExternalData, graphPath: string): Promise<void> {
    const tensors: TensorProto[] = [];
    for (const initializer of this.#initializers) {
      const { name } = initializer;
      if (externalBytes(initializer) === 0) {
        const bytes = inline.get(name) ?? (await initializerBytes(initializer));
        tensors.push(inlineTensor(initializer, bytes));
        continue;
      }
      const span = spans.get(name);
      if (span?.length !== externalBytes(initializer)) {
        throw new Error(`initializer "${name}" is not what ${fileName} holds`);
      }
      tensors.push(externalTensor(initializer, fileName, span));
    }
    await writeFile(graphPath, this.#serialize(tensors), { flush: true });
  }

  #serialize(initializer: TensorProto[]): Uint8Array {
    const undefinedOutput = this.#outputs.find(({ name }) => !this.#names.has(name));
    if (undefinedOutput !== undefined) {
      throw new Error(`graph output "${undefinedOutput.name}" is made by no node`);
    }
    const graph = create(GraphProtoSchema, {
      name: this.#name,
      input: this.#inputs,
      output: this.#outputs,
      node: this.#nodes,
      initializer,
    });
    // A session without them refuses a graph that only names their domain.
    const usesNative = this.#nodes.some(({ domain }) => domain === NATIVE_DOMAIN);
    const model = create(ModelProtoSchema, {
      irVersion: IR_VERSION,
      producerName: 'chairlift',
      opsetImport: [
        { domain: '', version: OPSET_VERSION },
        { domain: MICROSOFT_DOMAIN, version: MICROSOFT_OPSET_VERSION },
        ...(usesNative ? [{ domain: NATIVE_DOMAIN, version: NATIVE_OPSET_VERSION }] : []),
      ],
      graph,
    });
    return toBinary(ModelProtoSchema, model);
  }

  #define(name: string): void {
    if (this.#names.has(name)) {
      throw new Error(`"${name}" is defined twice in graph "${this.#name}"`);
    }
    this.#names.add(name);
  }
}

/** Bytes that an initializer takes in the external data file: 0 if it is stored inline. */
function externalBytes(initializer: Initializer): number {
  const bytes = initializerByteLength(initializer);
  return bytes > MAX_INLINE_BYTES ? bytes : 0;
}
