import type { GraphBuilder } from '../../onnx/graph-builder.ts';

/** The zero point of 8-bit activations: the middle of what they can be. */
const ZERO_POINT = 128;
const LARGEST = 127;

/** Activations as small integers: a value is (stored - ZERO_POINT) * its row's scale. */
export interface QuantizedRows {
  /** uint8 [rows, n] */
  readonly values: string;
  /** float [rows, 1] */
  readonly scales: string;
}

/**
 * Adds the quantization of activations to 8 bits, each row by a scale of its own: so no row depends
 * on what it is computed with, as it does with DynamicQuantizeLinear's one scale for all.
 */
export class RowQuantizer {
  readonly #graph: GraphBuilder;
  /** Names, once they are in the graph: not every graph quantizes activations. */
  #added: { inverse: string; columns: string; flat: string; zeroPoint: string } | undefined;
  #constantZeroPoint: string | undefined;
  /** Those that are in the graph, by input: several products may read the same. */
  readonly #quantized = new Map<string, QuantizedRows>();
  /** Zero points [rows], by the value that they have as many of as it has rows. */
  readonly #zeroPoints = new Map<string, string>();

  constructor(graph: GraphBuilder) {
    this.#graph = graph;
  }

  /** uint8 [1]: the zero point of all quantized activations. */
  get zeroPoint(): string {
    return this.#constants().zeroPoint;
  }

  /**
   * @param input float [rows, n]
   * @param rowsLike a value [rows]
   */
  quantize(input: string, rowsLike: string): QuantizedRows {
    const known = this.#quantized.get(input);
    if (known !== undefined) return known;
    const made = this.#addQuantized(input, rowsLike);
    this.#quantized.set(input, made);
    return made;
  }

  #addQuantized(input: string, rowsLike: string): QuantizedRows {
    const graph = this.#graph;
    const { inverse, columns, flat: shape } = this.#constants();
    const magnitudes = graph.node(`${input}/Abs`, 'Abs', [input]);
    const largest = graph.node(`${input}/Largest`, 'ReduceMax', [magnitudes, columns]);
    const scales = graph.node(`${input}/Scales`, 'Mul', [largest, inverse]);
    const flat = graph.node(`${input}/FlatScales`, 'Reshape', [scales, shape]);
    const values = graph.node(
      `${input}/Quantized`,
      'QuantizeLinear',
      [input, flat, this.#zeroPointsLike(rowsLike)],
      { attributes: { axis: 0n } },
    );
    return { values, scales };
  }

  /** uint8 []: the zero point of those that have a constant scale. */
  get constantZeroPoint(): string {
    const value = Uint8Array.of(ZERO_POINT);
    this.#constantZeroPoint ??= this.#graph.initializer('activations/zero', 'uint8', [], value);
    return this.#constantZeroPoint;
  }

  /**
   * Quantizes all rows by the same scale.
   * @param step one of the 127 that integers have on either side of 0; what is larger is cut off
   */
  quantizeBy(input: string, step: number): { readonly values: string; readonly step: string } {
    const graph = this.#graph;
    const scalar = graph.initializer(`${input}/Step`, 'float', [], Float32Array.of(step));
    const inputs = [input, scalar, this.constantZeroPoint];
    return { values: graph.node(`${input}/Quantized`, 'QuantizeLinear', inputs), step: scalar };
  }

  #zeroPointsLike(rowsLike: string): string {
    const known = this.#zeroPoints.get(rowsLike);
    if (known !== undefined) return known;
    const shape = this.#graph.node(`${rowsLike}/Shape`, 'Shape', [rowsLike]);
    const made = this.#graph.node(`${rowsLike}/ZeroPoints`, 'Expand', [this.zeroPoint, shape]);
    this.#zeroPoints.set(rowsLike, made);
    return made;
  }

  #constants() {
    const graph = this.#graph;
    this.#added ??= {
      inverse: graph.initializer('activations/inverse', 'float', [1], Float32Array.of(1 / LARGEST)),
      columns: graph.initializer('activations/columns', 'int64', [1], BigInt64Array.of(1n)),
      flat: graph.initializer('activations/flat', 'int64', [1], BigInt64Array.of(-1n)),
      zeroPoint: graph.initializer(
        'activations/zero_point',
        'uint8',
        [1],
        Uint8Array.of(ZERO_POINT),
      ),
    };
    return this.#added;
  }
}
