import { requireFinite } from '../huggingface/finite.ts';
import { ModelError } from '../model-error.ts';
import { E4M3 } from './float8.ts';
import type { IntegerFormat, MatrixFormat, MatrixShape, ValueFormat } from './matrix-format.ts';
import { E2M1_BLOCK, powerOfTwo } from './mxfp4.ts';
import { e2m1Integers, NVFP4_BLOCK, readE4m3 } from './nvfp4.ts';
import type { TensorReader } from './tensor-reader.ts';
import { unpackBits } from './unpack.ts';

const AFFINE_BITS: readonly number[] = [2, 3, 4, 5, 6, 8];
const AFFINE_BLOCKS: readonly number[] = [32, 64, 128];

/** Form of a matrix's tensors: integers of so many bits, of which so many neighbours share a scale. */
interface MlxMatrix {
  readonly bits: number;
  readonly blockSize: number;
  readonly groups: number;
}

/**
 * Formats of MLX: `weight` [rows, words] with integers one after the other from the lowest bit on, and `scales`
 * [rows, groups].
 * @param keptIn see StoredLayout
 */
export function mlxFormats(keptIn: 4 | 8): readonly MatrixFormat[] {
  return [affineFormat(keptIn), fourBitFormat(keptIn), eightBitFormat()];
}

/** Integers times `scales`, plus `biases` [rows, groups]. */
function affineFormat(keptIn: 4 | 8): IntegerFormat {
  return {
    kind: 'integers',
    holds: (tensors, base) => isPacked(tensors, base) && tensors.dtype(`${base}.scales`) !== 'U8',
    layout(tensors, base, shape) {
      const found = matrixOf(tensors, base, shape);
      if (found === null || !AFFINE_BITS.includes(found.bits)) return null;
      if (!AFFINE_BLOCKS.includes(found.blockSize)) return null;
      const bits = found.bits > 4 ? 8 : 4;
      const { blockSize } = found;
      return { bits, blockSize, hasZeroPoints: false, hasOffsets: true, order: null, keptIn };
    },
    async integers(tensors, base, shape, { bits: wide }) {
      const { bits, groups } = requireMatrix(tensors, base, shape);
      const values = await packed(tensors, base, shape, bits);
      const ofGroups = [shape[0], groups] as const;
      const scales = await floats(tensors, `${base}.scales`, ofGroups);
      const offsets = await floats(tensors, `${base}.biases`, ofGroups);
      // Integers around the middle, what they stand for as an offset.
      const middle = 2 ** (bits - 1);
      const moved = 2 ** (wide - 1) - middle;
      for (const [at, value] of values.entries()) values[at] = value + moved;
      for (const [at, scale] of scales.entries()) offsets[at] = (offsets[at] ?? 0) + middle * scale;
      const what = tensors.describe(`${base}.biases`);
      requireFinite(offsets, { what, shape: ofGroups, kind: 'offset' });
      return { values, scales, zeroPoints: null, offsets };
    },
  };
}

/** `mxfp4` and `nvfp4`: E2M1 times powers of two, or times E4M3. */
function fourBitFormat(keptIn: 4 | 8): IntegerFormat {
  return {
    kind: 'integers',
    holds: (tensors, base) => {
      // Two in a byte: a scale of theirs is of 4 words, or of 2; in 8 bits of 8.
      const [width = 0, groups = 0] = widthsOf(tensors, base);
      return isPacked(tensors, base) && isBytes(tensors, base) && width < 8 * groups;
    },
    layout(tensors, base, shape) {
      const found = matrixOf(tensors, base, shape);
      if (found?.bits !== 4) return null;
      const { blockSize } = found;
      if (blockSize !== E2M1_BLOCK && blockSize !== NVFP4_BLOCK) return null;
      return { bits: 8, blockSize, hasZeroPoints: false, order: null, keptIn };
    },
    async integers(tensors, base, shape, { blockSize }) {
      const { groups } = requireMatrix(tensors, base, shape);
      const bytes = await wordBytes(tensors, base, shape[0]);
      const scaleShape = [shape[0], groups] as const;
      const scales =
        blockSize === NVFP4_BLOCK
          ? await readE4m3(tensors, `${base}.scales`, ['U8'], scaleShape)
          : await powers(tensors, base, scaleShape);
      return e2m1Integers(bytes, scales);
    },
  };
}

/** `mxfp8`: E4M3 times powers of two. */
function eightBitFormat(): ValueFormat {
  return {
    kind: 'values',
    holds: (tensors, base) => isPacked(tensors, base) && isBytes(tensors, base),
    async values(tensors, base, shape) {
      const { bits, blockSize, groups } = requireMatrix(tensors, base, shape);
      if (bits !== 8 || blockSize !== E2M1_BLOCK) throw isOther(base, shape);
      const bytes = await wordBytes(tensors, base, shape[0]);
      const scales = await powers(tensors, base, [shape[0], groups]);
      return Float32Array.from(bytes, (byte, at) => {
        return (E4M3[byte] ?? 0) * (scales[Math.floor(at / blockSize)] ?? 0);
      });
    },
  };
}

function isPacked(tensors: TensorReader, base: string): boolean {
  return tensors.dtype(`${base}.weight`) === 'U32' && tensors.shape(`${base}.scales`) !== null;
}

function isBytes(tensors: TensorReader, base: string): boolean {
  return tensors.dtype(`${base}.scales`) === 'U8';
}

/** Words and scales of a row. */
function widthsOf(tensors: TensorReader, base: string): (number | undefined)[] {
  return ['weight', 'scales'].map((name) => tensors.shape(`${base}.${name}`)?.[1]);
}

/** Null where the tensors are not those of a matrix of that shape. */
function matrixOf(
  tensors: TensorReader,
  base: string,
  [rows, columns]: MatrixShape,
): MlxMatrix | null {
  const shapes = [`${base}.weight`, `${base}.scales`].map((name) => tensors.shape(name) ?? []);
  if (shapes.some(({ length, 0: height }) => length !== 2 || height !== rows)) return null;
  const [width = 0, groups = 0] = widthsOf(tensors, base);
  const [bits, blockSize] = [(width * 32) / columns, columns / groups];
  return Number.isInteger(bits) && Number.isInteger(blockSize) ? { bits, blockSize, groups } : null;
}

function requireMatrix(tensors: TensorReader, base: string, shape: MatrixShape): MlxMatrix {
  const found = matrixOf(tensors, base, shape);
  if (found === null) throw isOther(base, shape);
  return found;
}

function isOther(base: string, shape: MatrixShape): ModelError {
  return new ModelError(`tensor "${base}" is not a quantized matrix [${shape.join(', ')}]`);
}

async function wordBytes(tensors: TensorReader, base: string, rows: number): Promise<Uint8Array> {
  const [width = 0] = widthsOf(tensors, base);
  return tensors.bytes(`${base}.weight`, ['U32'], [rows, width]);
}

async function packed(
  tensors: TensorReader,
  base: string,
  shape: MatrixShape,
  bits: number,
): Promise<Uint8Array> {
  return unpackBits(await wordBytes(tensors, base, shape[0]), shape, bits);
}

async function floats(
  tensors: TensorReader,
  name: string,
  shape: MatrixShape,
): Promise<Float32Array> {
  const stored = tensors.shape(name);
  if (stored !== null && stored.join() !== shape.join()) {
    throw new ModelError(
      `tensor "${name}" has shape [${stored.join(', ')}], expected [${shape.join(', ')}]`,
    );
  }
  return tensors.floats(name);
}

/** @throws {ModelError} if one stands for NaN */
async function powers(
  tensors: TensorReader,
  base: string,
  shape: MatrixShape,
): Promise<Float32Array> {
  const bytes = await tensors.bytes(`${base}.scales`, ['U8'], shape);
  const scales = Float32Array.from(bytes, powerOfTwo);
  requireFinite(scales, { what: tensors.describe(`${base}.scales`), shape });
  return scales;
}
