import { float16ToFloat32 } from '../huggingface/float-conversion.ts';
import { PackedLayout } from '../quantize/packed-layout.ts';
import { zeroPointBytes } from '../quantize/pack-integers.ts';
import { type MatrixSource, partsOf, rowsOf } from '../huggingface/matrix-source.ts';
import type { StoredTensors } from './stored-tensors.ts';

/** A matrix as a built graph has it. */
export interface StoredMatrix {
  /** Such as `4 bits in blocks of 64`. */
  readonly form: string;
  /** Writes a row's weights into `target`. */
  readonly readRow: (row: number, target: Float32Array) => void;
}

/** Null where the graph has no such matrix. */
export async function storedMatrix(
  tensors: StoredTensors,
  source: MatrixSource,
): Promise<StoredMatrix | null> {
  const { name } = source;
  if (tensors.shape(`${name}.weight_packed4`)) return nativeMatrix(tensors, source, 4);
  if (tensors.shape(`${name}.weight_packed8`)) return nativeMatrix(tensors, source, 8);
  if (tensors.shape(`${name}.weight_blocks`)) return blockMatrix(tensors, source);
  if (tensors.shape(`${name}.weight_int8`)) return rowMatrix(tensors, source);
  if (tensors.shape(`${name}.weight`)) return floatMatrix(tensors, source);
  return source.tensors.length > 1 ? partedMatrix(tensors, source) : null;
}

/** Tensors that are matrices by themselves. */
async function partedMatrix(
  tensors: StoredTensors,
  source: MatrixSource,
): Promise<StoredMatrix | null> {
  const parts: { readonly end: number; readonly matrix: StoredMatrix }[] = [];
  let end = 0;
  for (const part of partsOf(source)) {
    const matrix = await storedMatrix(tensors, part);
    if (matrix === null) return null;
    end += rowsOf(part);
    parts.push({ end, matrix });
  }
  return {
    form: [...new Set(parts.map(({ matrix }) => matrix.form))].join(', '),
    readRow(row, target) {
      const at = parts.findIndex((part) => row < part.end);
      parts[at]?.matrix.readRow(row - (parts[at - 1]?.end ?? 0), target);
    },
  };
}

async function floatMatrix(tensors: StoredTensors, source: MatrixSource): Promise<StoredMatrix> {
  const name = `${source.name}.weight`;
  const isHalf = tensors.isOf(name, 'float16');
  const values = await readFloats(tensors, name);
  // Those that rows are looked up in lie as they are in the checkpoint.
  const isTransposed = source.tensors.every((tensor) => tensor.name !== name);
  const { columns } = source;
  const rows = rowsOf(source);
  return {
    form: isHalf ? 'float16' : 'float32',
    readRow(row, target) {
      if (!isTransposed) {
        target.set(values.subarray(row * columns, (row + 1) * columns));
        return;
      }
      for (let i = 0; i < columns; i++) target[i] = values[i * rows + row] ?? NaN;
    },
  };
}

async function rowMatrix(tensors: StoredTensors, source: MatrixSource): Promise<StoredMatrix> {
  const values = await tensors.read(`${source.name}.weight_int8`, 'int8');
  const scales = await tensors.read(`${source.name}.weight_scales`, 'float');
  const rows = rowsOf(source);
  return {
    form: ROWS,
    readRow(row, target) {
      const scale = scales[row] ?? NaN;
      for (let i = 0; i < source.columns; i++) target[i] = scale * (values[i * rows + row] ?? NaN);
    },
  };
}

async function blockMatrix(
  tensors: StoredTensors,
  { name, columns }: MatrixSource,
): Promise<StoredMatrix> {
  const packedName = `${name}.weight_blocks`;
  const bits = tensors.attribute(packedName, 'bits') === 4 ? 4 : 8;
  const size = tensors.attribute(packedName, 'block_size');
  const packed = await tensors.read(packedName, 'uint8');
  const scales = await readFloats(tensors, `${name}.weight_scales`);
  const hasZeros = tensors.shape(`${name}.weight_zero_points`) !== null;
  const zeros = hasZeros ? await tensors.read(`${name}.weight_zero_points`, 'uint8') : null;
  const hasOffsets = tensors.shape(`${name}.weight_offsets`) !== null;
  const offsets = hasOffsets ? await readFloats(tensors, `${name}.weight_offsets`) : null;
  const hasOrder = tensors.shape(`${name}.order`) !== null;
  const order = hasOrder ? await tensors.read(`${name}.order`, 'int32') : null;
  const blocks = Math.ceil(columns / size);
  return {
    form:
      `${bits} bits in blocks of ${size}` +
      (hasZeros ? ' with zero points' : '') +
      (hasOffsets ? ' with offsets' : ''),
    readRow(row, target) {
      const first = (row * blocks * size * bits) / 8;
      for (let place = 0; place < columns; place++) {
        const block = Math.floor(place / size);
        const zero =
          zeros === null
            ? 2 ** (bits - 1)
            : integerAt(zeros, row * zeroPointBytes(blocks, bits), block, bits);
        const scale = scales[row * blocks + block] ?? NaN;
        const value =
          scale * (integerAt(packed, first, place, bits) - zero) +
          (offsets?.[row * blocks + block] ?? 0);
        target[order?.[place] ?? place] = value;
      }
    },
  };
}

async function nativeMatrix(
  tensors: StoredTensors,
  source: MatrixSource,
  bits: 4 | 8,
): Promise<StoredMatrix> {
  const { name, columns } = source;
  const packedName = `${name}.weight_packed${bits}`;
  const isGated = tensors.attribute(packedName, 'activation') !== 0;
  const layout = new PackedLayout(rowsOf(source), columns, isGated);
  const packed = await tensors.read(packedName, 'uint8');
  const scales = await readFloats(tensors, `${name}.weight_scales`);
  const blocks = scales.length / layout.numPlaces;
  const size = layout.padded / blocks;
  const isInRows = tensors.isOf(`${name}.weight_scales`, 'float');
  const hasOffsets = tensors.shape(`${name}.weight_offsets`) !== null;
  const offsets = hasOffsets ? await readFloats(tensors, `${name}.weight_offsets`) : null;
  const inBlocks = `${bits} bits in blocks of ${size}${hasOffsets ? ' with offsets' : ''}`;
  return {
    form: isInRows ? ROWS : inBlocks,
    readRow(row, target) {
      const place = layout.placeOf(row);
      const pair = Math.floor(place / 32);
      for (let i = 0; i < columns; i++) {
        const block = pair * blocks + Math.floor(i / size);
        const scale = scales[block * 32 + (place % 32)] ?? NaN;
        const offset = offsets?.[block * 32 + (place % 32)] ?? 0;
        if (bits === 8) {
          const at = pair * 32 * layout.padded + (i >> 2) * 128 + (place % 32) * 4 + (i & 3);
          target[i] = scale * ((packed[at] ?? NaN) - 128) + offset;
          continue;
        }
        const half = Math.floor((place % 32) / 16) * 8 * size + (place % 16) * 4;
        // The first four of eight neighbours are in the low halves.
        const within = i % size;
        const byte = packed[block * 16 * size + half + (within >> 3) * 64 + (within & 3)] ?? NaN;
        target[i] = scale * ((within & 4 ? byte >> 4 : byte & 15) - 8) + offset;
      }
    },
  };
}

/** A matrix in 8 bits. */
const ROWS = '8 bits in rows';

async function readFloats(tensors: StoredTensors, name: string): Promise<Float32Array> {
  if (!tensors.isOf(name, 'float16')) return tensors.read(name, 'float');
  const halves = await tensors.read(name, 'float16');
  const values = new Float32Array(halves.length);
  float16ToFloat32(halves, values);
  return values;
}

function integerAt(bytes: Uint8Array, first: number, index: number, bits: 4 | 8): number {
  if (bits === 8) return bytes[first + index] ?? NaN;
  const byte = bytes[first + (index >> 1)] ?? NaN;
  return index & 1 ? byte >> 4 : byte & 15;
}
