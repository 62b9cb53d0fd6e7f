import type { NativeFormat, StoredLayout, WeightSource } from '../huggingface/weights.ts';
import { isInRows } from '../quantize/kept-format.ts';
import type { Precision } from '../manifest.ts';
import type { MatrixSource } from '../huggingface/matrix-source.ts';

const ROWS: NativeFormat = { bits: 8, blockSize: null, hasOffsets: false, isStored: false };
const BLOCKS_OF_8: NativeFormat = { ...ROWS, blockSize: 32 };
const BLOCKS_OF_4: NativeFormat = { ...ROWS, bits: 4, blockSize: 64 };
const OFFSETS_OF_4: NativeFormat = { ...ROWS, bits: 4, blockSize: 32, hasOffsets: true };

/** Gates of states: few rows, whose errors add up over all tokens. */
const GATES = /^layers\.\d+\.delta\.(gates|decays)$/;

/** Formats of weights that are not stored in integers which native/ supports. */
interface OwnFormats {
  /** Bits of a checkpoint's integers that are kept. */
  readonly keeps: 4 | 8;
  readonly linear: NativeFormat;
  readonly lmHead: NativeFormat;
  /** Format of the matrices that lose most by 4 bits; as the others if left out. */
  readonly sensitive?: NativeFormat;
}

const INT8: OwnFormats = { keeps: 8, linear: ROWS, lmHead: ROWS };

export type NativePrecision = Exclude<Precision, 'fp32' | 'fp16'>;

const OWN: Readonly<Record<NativePrecision, OwnFormats>> = {
  int8: INT8,
  'int8-static': INT8,
  'int8-blocks': { keeps: 8, linear: BLOCKS_OF_8, lmHead: BLOCKS_OF_8 },
  int4: { keeps: 4, linear: BLOCKS_OF_4, lmHead: ROWS },
  'int4-mixed': { keeps: 4, linear: OFFSETS_OF_4, lmHead: ROWS, sensitive: ROWS },
};

/** Format of a matrix as it is stored, if a build keeps that and native/ has such weights. */
export function nativeFormat(
  weights: WeightSource,
  source: MatrixSource,
  precision: NativePrecision,
  numLayers: number,
): NativeFormat {
  const { keeps, linear, sensitive = linear } = OWN[precision];
  const isGate = GATES.test(source.name);
  const own = isGate ? ROWS : isSensitive(source.name, numLayers) ? sensitive : linear;
  return storedFormat(weights, source, keeps) ?? own;
}

/**
 * Whether a matrix is among those that lose most by 4 bits: queries, keys and values, since many heads
 * read the same few keys and values, and what MLPs end with in the first and last layers and each third
 * in between, as in llama.cpp's Q4_K_M.
 */
function isSensitive(name: string, numLayers: number): boolean {
  const [, layer = '', kind] = /^layers\.(\d+)\..*\b(qkv|down)$/.exec(name) ?? [];
  if (kind !== 'down') return kind === 'qkv';
  const first = Math.floor(numLayers / 8);
  const last = Math.floor((7 * numLayers) / 8);
  return Number(layer) < first || Number(layer) >= last || (Number(layer) - first) % 3 === 2;
}

/** Format of the LM head: as it is stored in any build, otherwise the precision's. */
export function headFormat(
  weights: WeightSource,
  source: MatrixSource,
  precision: NativePrecision,
): NativeFormat {
  return storedFormat(weights, source) ?? OWN[precision].lmHead;
}

/**
 * The format of native/ that has the integers of all of a matrix's tensors; null where there is none.
 * Tensors may differ: 4 bits fit into 8, and blocks into smaller ones with the same scale.
 * @param bits of the build, where it must be one that keeps them
 */
export function storedFormat(
  weights: WeightSource,
  { tensors, columns }: MatrixSource,
  bits?: 4 | 8,
): NativeFormat | null {
  const formats: NativeFormat[] = [];
  for (const { name, rows } of tensors) {
    const layout = weights.layout?.(name, [rows, columns]) ?? null;
    if (layout === null) return null;
    if (bits !== undefined && (layout.keptIn ?? layout.bits) !== bits) return null;
    const format = keptIn(layout, columns);
    if (format === null) return null;
    formats.push(format);
  }
  const sizes = formats.map(({ blockSize }) => blockSize);
  if (sizes.every((size) => size === null)) return ROWS;
  // A whole row with one scale is not computed as blocks are.
  if (!sizes.every((size) => size !== null)) return null;
  const fewest = formats.every((format) => format.bits === 4) ? 4 : 8;
  const hasOffsets = formats.some((format) => format.hasOffsets);
  return withBlocks(fewest, Math.min(...sizes), hasOffsets);
}

/** How native/ keeps integers of a layout as they are; null where it cannot. */
export function keptIn(layout: StoredLayout, columns: number): NativeFormat | null {
  const { bits, blockSize, hasZeroPoints, hasOffsets = false, order } = layout;
  if (isInRows(layout, columns)) return ROWS;
  if (order !== null) return null;
  return withBlocks(bits, blockSize, hasOffsets || hasZeroPoints);
}

/**
 * Format with blocks of at most `size`: a larger block becomes several with the same scale. The
 * smallest blocks have 8 bits only.
 */
function withBlocks(bits: 4 | 8, size: number, hasOffsets: boolean): NativeFormat | null {
  const kept = { hasOffsets, isStored: true };
  if (bits === 4 && size % 32 === 0) return { bits, blockSize: size % 64 === 0 ? 64 : 32, ...kept };
  if (size % 16 !== 0) return null;
  return { bits: 8, blockSize: size % 32 === 0 ? 32 : 16, ...kept };
}
