import { MICROSOFT_DOMAIN, type GraphBuilder } from '../../onnx/graph-builder.ts';
import { floatInitializer } from './float-matrix.ts';
import {
  BLOCK_SIZE,
  blockBytes,
  blocksPerRow,
  emptyBlocks,
  quantizeRows,
  type QuantizedBlocks,
} from './quantize-blocks.ts';
import { type BlockFormat, INT8_ACTIVATIONS } from './weight-format.ts';
import type { WeightSource } from '../huggingface/weights.ts';

/** Checkpoint tensors [rows, columns] that are stacked in one matrix. */
export interface MatrixSource {
  readonly name: string;
  readonly tensors: readonly { readonly name: string; readonly rows: number }[];
  readonly columns: number;
}

/** A matrix of a graph that is stored in quantized blocks. */
export class BlockMatrix {
  readonly #graph: GraphBuilder;
  readonly #rows: number;
  readonly #columns: number;
  readonly #bits: 4 | 8;
  readonly #packed: string;
  readonly #scales: string;

  constructor(
    graph: GraphBuilder,
    weights: WeightSource,
    source: MatrixSource,
    { bits, activations }: BlockFormat,
  ) {
    const { name, columns } = source;
    const rows = source.tensors.reduce((sum, tensor) => sum + tensor.rows, 0);
    const blocks = blocksPerRow(columns);
    // The graph is written in the order of its initializers: packed values, then their scales.
    let quantized: QuantizedBlocks | undefined;
    this.#graph = graph;
    this.#rows = rows;
    this.#columns = columns;
    this.#bits = bits;
    this.#packed = graph.initializer(
      `${name}.weight_blocks`,
      'uint8',
      [rows, blocks, blockBytes(bits)],
      async () => {
        quantized = await quantize(weights, source, rows, bits);
        return quantized.packed;
      },
    );
    const scalesName = `${name}.weight_scales`;
    this.#scales = floatInitializer(graph, scalesName, [rows, blocks], activations, async () => {
      const { scales } = quantized ?? (await quantize(weights, source, rows, bits));
      quantized = undefined;
      return scales;
    });
  }

  /** Adds `output = input W^T`; [..., columns] becomes [..., rows]. */
  multiply(output: string, input: string): string {
    return this.#graph.node(output, 'MatMulNBits', [input, this.#packed, this.#scales], {
      domain: MICROSOFT_DOMAIN,
      attributes: {
        K: BigInt(this.#columns),
        N: BigInt(this.#rows),
        bits: BigInt(this.#bits),
        block_size: BigInt(BLOCK_SIZE),
        accuracy_level: INT8_ACTIVATIONS,
      },
    });
  }

  /** Adds a lookup of rows; `indices` [tokens] become [tokens, columns]. */
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
          block_size: BigInt(BLOCK_SIZE),
          gather_axis: 0n,
          quantize_axis: 2n,
        },
      },
    );
    const shape = graph.initializer(`${output}/shape`, 'int64', [2], BigInt64Array.of(0n, -1n));
    if (this.#columns % BLOCK_SIZE === 0) {
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
    const shape = [this.#rows, blocksPerRow(this.#columns), 1];
    const middle = this.#bits === 4 ? 0x88 : 0x80;
    return this.#graph.initializer(name, 'uint8', shape, async () =>
      new Uint8Array(this.#rows * blocksPerRow(this.#columns)).fill(middle),
    );
  }
}

async function quantize(
  weights: WeightSource,
  { tensors, columns }: MatrixSource,
  totalRows: number,
  bits: 4 | 8,
): Promise<QuantizedBlocks> {
  const quantized = emptyBlocks(totalRows, columns, bits);
  let firstRow = 0;
  for (const { name, rows } of tensors) {
    quantizeRows(await weights.get(name, [rows, columns]), columns, bits, quantized, firstRow);
    firstRow += rows;
  }
  return quantized;
}
