import { requireFinite } from '../huggingface/finite.ts';
import type { StoredIntegers } from '../huggingface/weights.ts';
import { ModelError } from '../model-error.ts';
import { E4M3 } from './float8.ts';
import type { IntegerFormat, MatrixShape } from './matrix-format.ts';
import { E2M1 } from './mxfp4.ts';
import type { TensorReader } from './tensor-reader.ts';

/** Values that share a scale in E4M3. */
export const NVFP4_BLOCK = 16;

/** Names of a matrix's tensors, and whether its own scale is a divisor. */
interface Nvfp4Names {
  readonly packed: string;
  readonly own: string;
  readonly isDivisor: boolean;
}

/** Names that ModelOpt gives them. */
export const MODELOPT: Nvfp4Names = { packed: 'weight', own: 'weight_scale_2', isDivisor: false };

/** Names in `nvfp4-pack-quantized` of compressed-tensors. */
export const COMPRESSED: Nvfp4Names = {
  packed: 'weight_packed',
  own: 'weight_global_scale',
  isDivisor: true,
};

/** Integers of E2M1 by its bits: twice its values, from 128 on. */
const DOUBLES = Uint8Array.from(E2M1, (value) => 128 + 2 * value);

/**
 * NVFP4: `packed` [rows, columns / 2] of E2M1, the first one low, `weight_scale` [rows, columns / 16] of E4M3, and
 * a scale of the whole matrix. What it stands for are integers times half of these scales.
 */
export function nvfp4Format({ packed, own, isDivisor }: Nvfp4Names): IntegerFormat {
  return {
    kind: 'integers',
    holds: (tensors, base) =>
      tensors.dtype(`${base}.${packed}`) === 'U8' && tensors.shape(`${base}.${own}`) !== null,
    layout(tensors, base, [rows, columns]) {
      const isWhole = columns % NVFP4_BLOCK === 0;
      const found = tensors.shape(`${base}.${packed}`)?.join();
      // Values around a zero point are not these.
      if (tensors.shape(`${base}.weight_zero_point`) !== null) return null;
      if (!isWhole || found !== [rows, columns / 2].join()) return null;
      return { bits: 8, blockSize: NVFP4_BLOCK, hasZeroPoints: false, order: null };
    },
    async integers(tensors, base, [rows, columns]) {
      const bytes = await tensors.bytes(`${base}.${packed}`, ['U8'], [rows, columns / 2]);
      const scaleShape = [rows, columns / NVFP4_BLOCK] as const;
      const scales = await readE4m3(tensors, `${base}.weight_scale`, ['F8_E4M3'], scaleShape);
      const values = await tensors.floats(`${base}.${own}`);
      const [stated = 0] = values;
      if (values.length !== 1) {
        throw new ModelError(`tensor "${base}.${own}" has ${values.length} scales, expected 1`);
      }
      for (const [at, scale] of scales.entries()) {
        scales[at] = isDivisor ? scale / stated : scale * stated;
      }
      const what = tensors.describe(`${base}.${own}`);
      requireFinite(scales, { what, shape: scaleShape, kind: 'scale' });
      return e2m1Integers(bytes, scales);
    },
  };
}

/** @param scales of blocks, in place made those of integers */
export function e2m1Integers(packed: Uint8Array, scales: Float32Array): StoredIntegers {
  const values = new Uint8Array(packed.length * 2);
  for (const [at, byte] of packed.entries()) {
    values[2 * at] = DOUBLES[byte & 15] ?? 0;
    values[2 * at + 1] = DOUBLES[byte >> 4] ?? 0;
  }
  for (const [at, scale] of scales.entries()) scales[at] = scale / 2;
  return { values, scales, zeroPoints: null };
}

/** Scales in E4M3 as float32. @throws {ModelError} if one is not finite */
export async function readE4m3(
  tensors: TensorReader,
  name: string,
  dtypes: readonly string[],
  shape: MatrixShape,
): Promise<Float32Array> {
  const bytes = await tensors.bytes(name, dtypes, shape);
  const scales = Float32Array.from(bytes, (byte) => E4M3[byte] ?? 0);
  requireFinite(scales, { what: tensors.describe(name), shape });
  return scales;
}
