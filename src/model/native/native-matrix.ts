import type { ElementType } from '../../onnx/data-type.ts';
import { type GraphBuilder, NATIVE_DOMAIN } from '../../onnx/graph-builder.ts';
import type { NativeFormat, WeightSource } from '../huggingface/weights.ts';
import { MadeOnce } from '../quantize/make-matrix.ts';
import { type MatrixSource, rowsOf } from '../huggingface/matrix-source.ts';
import { PackedLayout } from '../quantize/packed-layout.ts';

/** A packed matrix of a graph. */
export interface NativeMatrix {
  readonly name: string;
  readonly rows: number;
  readonly columns: number;
  readonly format: NativeFormat;
  readonly layout: PackedLayout;
  /** Name of the integers. */
  readonly values: string;
  readonly scales: string;
  /** Offsets of blocks; null where the format has none. */
  readonly offsets: string | null;
}

/** Adds a matrix, to be multiplied with or to take rows of. @see PackedLayout for `isGated` */
export function addNativeMatrix(
  graph: GraphBuilder,
  weights: WeightSource,
  source: MatrixSource,
  format: NativeFormat,
  isGated = false,
): NativeMatrix {
  const { name, columns } = source;
  const rows = rowsOf(source);
  const layout = new PackedLayout(rows, columns, isGated);
  const { numPlaces, padded } = layout;
  const { bits, blockSize, hasOffsets } = format;
  const made = new MadeOnce(weights, { kind: 'native', source, ...format, isGated });
  let release: (() => void) | undefined;
  type Part = 'values' | 'scales' | 'offsets';
  const part = (what: Part, type: ElementType, shape: readonly number[], isLast = false) => {
    const suffix = what === 'values' ? `packed${bits}` : what;
    const load = async () => {
      const matrix = await (isLast ? made.loadLast() : made.load());
      ({ release } = matrix);
      return matrix[what] ?? new Uint8Array();
    };
    const onUsed = isLast ? () => release?.() : undefined;
    return graph.initializer(`${name}.weight_${suffix}`, type, shape, load, onUsed);
  };
  const values = part('values', 'uint8', [numPlaces, (padded * bits) / 8]);
  const shape = blockSize === null ? [numPlaces] : [numPlaces, padded / blockSize];
  const type = blockSize === null ? 'float' : 'float16';
  const scales = part('scales', type, shape, !hasOffsets);
  const offsets = hasOffsets ? part('offsets', type, shape, true) : null;
  return { name, rows, columns, format, layout, values, scales, offsets };
}

/** Adds `output` [ids, columns]: rows of a matrix that is not gated, by int64 ids. */
export function emitRows(
  graph: GraphBuilder,
  { rows, columns, format, values, scales, offsets }: NativeMatrix,
  output: string,
  ids: string,
): string {
  const { bits, blockSize } = format;
  const inputs = [ids, values, scales, ...(offsets === null ? [] : [offsets])];
  return graph.node(output, blockSize === null ? 'Rows8' : 'RowsBlocks', inputs, {
    domain: NATIVE_DOMAIN,
    attributes: {
      in_features: BigInt(columns),
      out_features: BigInt(rows),
      ...(blockSize !== null && { bits: BigInt(bits), block_size: BigInt(blockSize) }),
    },
  });
}
