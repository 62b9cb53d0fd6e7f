import { MICROSOFT_DOMAIN, type GraphBuilder } from '../../onnx/graph-builder.ts';
import { floatInitializer } from './float-matrix.ts';
import { MadeOnce } from './make-matrix.ts';
import { type MatrixSource, rowsOf } from '../huggingface/matrix-source.ts';
import { zeroPointBytes } from './pack-integers.ts';
import { BLOCK_SIZE } from './quantize-blocks.ts';
import { productBlockSize } from './stored-blocks.ts';
import { type BlockFormat, INT8_ACTIVATIONS } from './weight-format.ts';
import type { WeightSource } from '../huggingface/weights.ts';

/** A matrix of a graph that is stored in quantized blocks. */
export class BlockMatrix {
  readonly #graph: GraphBuilder;
  readonly #name: string;
  readonly #rows: number;
  readonly #columns: number;
  readonly #bits: 4 | 8;
  readonly #blockSize: number;
  readonly #packed: string;
  readonly #scales: string;
  /** Name of what stands for 0 in each block; null where it is the middle everywhere. */
  readonly #zeroPoints: string | null = null;
  /** Name of what is added to the weights of each block; null where nothing is. */
  readonly #offsets: string | null = null;
  /** By place in a row, the column that lies there; null where they lie in order. */
  readonly #order: Int32Array | null;

  constructor(
    graph: GraphBuilder,
    weights: WeightSource,
    source: MatrixSource,
    { bits, activations, stored }: BlockFormat,
  ) {
    const { name, columns } = source;
    const rows = rowsOf(source);
    const blockSize = (stored ? productBlockSize(stored) : null) ?? BLOCK_SIZE;
    const blocks = Math.ceil(columns / blockSize);
    this.#graph = graph;
    this.#name = name;
    this.#rows = rows;
    this.#columns = columns;
    this.#bits = bits;
    this.#blockSize = blockSize;
    this.#order = stored?.order ?? null;
    const made = new MadeOnce(weights, { kind: 'blocks', source, bits, stored: stored ?? null });
    // The graph is written in the order of its initializers: the last of them lets go of the matrix.
    const shape = [rows, blocks, (blockSize * bits) / 8];
    this.#packed = graph.initializer(`${name}.weight_blocks`, 'uint8', shape, async () => {
      return (await made.load()).values;
    });
    if (stored?.hasZeroPoints === true) {
      const zeroShape = [rows, zeroPointBytes(blocks, bits)];
      const zeroName = `${name}.weight_zero_points`;
      this.#zeroPoints = graph.initializer(zeroName, 'uint8', zeroShape, async () => {
        return (await made.load()).zeroPoints;
      });
    }
    if (stored?.hasOffsets === true) {
      const offsetsName = `${name}.weight_offsets`;
      this.#offsets = floatInitializer(
        graph,
        offsetsName,
        [rows, blocks],
        activations,
        async () => {
          return (await made.load()).offsets ?? new Float32Array();
        },
      );
    }
    const scalesName = `${name}.weight_scales`;
    this.#scales = floatInitializer(graph, scalesName, [rows, blocks], activations, async () => {
      return (await made.loadLast()).scales;
    });
  }

  /** Adds `output = input W^T`; [..., columns] becomes [..., rows]. */
  multiply(output: string, input: string): string {
    const ordered = this.#inOrder(input);
    if (this.#offsets === null) return this.#product(output, ordered);
    // A block's offset is added to the product, times the sum of its columns: these products are as
    // many as the blocks, and in floats.
    const product = this.#product(`${output}/Integers`, ordered);
    const inputs = [this.#blockSums(`${output}/Sums`, ordered), this.#offsets, product];
    return this.#graph.node(output, 'Gemm', inputs, { attributes: { transB: 1n } });
  }

  /** [tokens, columns] to [tokens, blocks]; stored blocks with offsets are whole. */
  #blockSums(output: string, input: string): string {
    const graph = this.#graph;
    const size = this.#blockSize;
    const dims = [0, this.#columns / size, size];
    const shape = graph.initializer(
      `${output}/shape`,
      'int64',
      [3],
      BigInt64Array.from(dims, BigInt),
    );
    const blocks = graph.node(`${output}/Blocks`, 'Reshape', [input, shape]);
    const axis = graph.initializer(`${output}/axis`, 'int64', [1], BigInt64Array.of(2n));
    return graph.node(output, 'ReduceSum', [blocks, axis], { attributes: { keepdims: 0n } });
  }

  #product(output: string, input: string): string {
    const zeroPoints = this.#zeroPoints === null ? [] : [this.#zeroPoints];
    const inputs = [input, this.#packed, this.#scales, ...zeroPoints];
    return this.#graph.node(output, 'MatMulNBits', inputs, {
      domain: MICROSOFT_DOMAIN,
      attributes: {
        K: BigInt(this.#columns),
        N: BigInt(this.#rows),
        bits: BigInt(this.#bits),
        block_size: BigInt(this.#blockSize),
        accuracy_level: INT8_ACTIVATIONS,
      },
    });
  }

  /** A value's columns in the order of the matrix's. */
  #inOrder(input: string): string {
    const order = this.#order;
    if (order === null) return input;
    const places = this.#graph.initializer(`${this.#name}.order`, 'int32', [order.length], order);
    const attributes = { axis: 1n };
    return this.#graph.node(`${this.#name}/Ordered`, 'Gather', [input, places], { attributes });
  }

  /**
   * Adds a lookup of rows; `indices` [tokens] become [tokens, columns]. The matrix has neither zero
   * points nor another order.
   */
  gather(output: string, indices: string): string {
    const graph = this.#graph;
    const lastAxis = graph.initializer(`${output}/axes`, 'int64', [1], BigInt64Array.of(-1n));
    // The two operators want the same scales in different shapes.
    const scales = graph.node(`${output}/BlockScales`, 'Unsqueeze', [this.#scales, lastAxis]);
    // Left out it is the middle on the CPU and on WebGPU, and 0 on CUDA (ONNX Runtime issue 31692).
    const zeroPoints = this.#middles(`${output}/zero_points`);
    const blocks = graph.node(
      `${output}/Blocks`,
      'GatherBlockQuantized',
      [this.#packed, indices, scales, zeroPoints],
      {
        domain: MICROSOFT_DOMAIN,
        attributes: {
          bits: BigInt(this.#bits),
          block_size: BigInt(this.#blockSize),
          gather_axis: 0n,
          quantize_axis: 2n,
        },
      },
    );
    const shape = graph.initializer(`${output}/shape`, 'int64', [2], BigInt64Array.of(0n, -1n));
    if (this.#columns % this.#blockSize === 0) {
      return graph.node(output, 'Reshape', [blocks, shape]);
    }
    const padded = graph.node(`${output}/Padded`, 'Reshape', [blocks, shape]);
    const start = graph.initializer(`${output}/start`, 'int64', [1], BigInt64Array.of(0n));
    const end = BigInt64Array.of(BigInt(this.#columns));
    const width = graph.initializer(`${output}/end`, 'int64', [1], end);
    return graph.node(output, 'Slice', [padded, start, width, lastAxis]);
  }

  /** The stored value for 0, in each block. */
  #middles(name: string): string {
    const blocks = Math.ceil(this.#columns / this.#blockSize);
    const middle = this.#bits === 4 ? 0x88 : 0x80;
    return this.#graph.initializer(name, 'uint8', [this.#rows, blocks, 1], async () =>
      new Uint8Array(this.#rows * blocks).fill(middle),
    );
  }
}
