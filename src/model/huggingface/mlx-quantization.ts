import { z } from 'zod';

import { explainZod } from '../../explain-zod.ts';
import { ModelError } from '../model-error.ts';

/** How MLX quantized a checkpoint: what a matrix has is told by its tensors. */
export interface MlxQuantization {
  readonly method: 'mlx';
  /** Bits of the precision whose builds keep integers of all sizes. */
  readonly keptIn: 4 | 8;
}

const MODES = ['affine', 'mxfp4', 'nvfp4', 'mxfp8'] as const;
const matrix = z.looseObject({
  group_size: z.literal([16, 32, 64, 128]),
  bits: z.literal([2, 3, 4, 5, 6, 8]),
  mode: z.enum(MODES).default('affine'),
});
/** Fields beside those of matrices that are not the most. */
const WORDS: ReadonlySet<string> = new Set(Object.keys(matrix.shape));

/** Whether this is what MLX writes: without the name of a method. */
export function isMlx(json: unknown): boolean {
  const stated: Readonly<Record<string, unknown>> = { ...Object(json) };
  return stated['quant_method'] === undefined && 'bits' in stated && 'group_size' in stated;
}

/** Whether a config.json says so. */
export function isMlxConfig(json: unknown): boolean {
  const stated: Readonly<Record<string, unknown>> = { ...Object(json) };
  return isMlx(stated['quantization']) || isMlx(stated['quantization_config']);
}

/** @param json what isMlx @throws {ModelError} naming what cannot be read */
export function parseMlx(json: unknown, origin: string): MlxQuantization {
  const read = (value: unknown, what: string) => {
    const parsed = matrix.safeParse(value);
    if (parsed.success) return parsed.data;
    throw new ModelError(
      `${origin}: MLX's quantization${what} is not supported: ${explainZod(parsed.error)}`,
    );
  };
  const others = Object.entries(Object(json)).filter(([name, value]) => {
    return !WORDS.has(name) && typeof value === 'object' && value !== null;
  });
  const all = [read(json, ''), ...others.map(([name, value]) => read(value, ` of ${name}`))];
  const hasFew = all.some(({ bits, mode }) => mode === 'affine' && bits <= 4);
  return { method: 'mlx', keptIn: hasFew ? 4 : 8 };
}
