import { z } from 'zod';

import { ModelError } from '../model-error.ts';
import { isMlx, type MlxQuantization, parseMlx } from './mlx-quantization.ts';
import { modelOptMethod } from './modelopt.ts';

/** How a checkpoint's matrices are quantized, of what its config.json says. */
export type Quantization =
  | {
      readonly method: 'gptq';
      readonly groupSize: number;
      readonly isSymmetric: boolean;
      readonly zeroOffset: 0 | 1;
    }
  | { readonly method: 'awq'; readonly groupSize: number }
  | {
      readonly method: 'compressed-tensors';
      readonly format: string;
      /** Weights that share a scale, in one group of matrices or another. */
      readonly groupSizes: readonly number[];
    }
  | { readonly method: 'fp8'; readonly block: readonly [number, number] | null }
  /** ModelOpt's, where matrices may also be in FP8. */
  | { readonly method: 'nvfp4' }
  | MlxQuantization
  | { readonly method: 'bitsandbytes' }
  /** Format of stacked experts, see StackedExperts. */
  | { readonly method: 'mxfp4' };

const GPTQ_FORMATS: readonly string[] = ['gptq', 'gptq_v2'];
/** AutoRound's names of what others call by a method. */
const PACKINGS: Readonly<Record<string, 'gptq' | 'awq'>> = {
  'auto_round:auto_gptq': 'gptq',
  'auto_round:auto_awq': 'awq',
};
const AWQ_VERSIONS: readonly string[] = ['gemm'];
const COMPRESSED_FORMATS: readonly string[] = [
  'pack-quantized',
  'int-quantized',
  'float-quantized',
  'naive-quantized',
  'mxfp4-pack-quantized',
  'nvfp4-pack-quantized',
  // Several of these.
  'mixed-precision',
  'dense',
];

const size = z.int().positive();
const schema = z.looseObject({
  quant_method: z.string().optional(),
  bits: z.int().optional(),
  group_size: z.int().optional(),
  sym: z.boolean().optional(),
  packing_format: z.string().optional(),
  load_in_4bit: z.boolean().optional(),
  load_in_8bit: z.boolean().optional(),
  checkpoint_format: z.string().optional(),
  version: z.string().optional(),
  format: z.string().optional(),
  weight_block_size: z.tuple([size, size]).nullish(),
  config_groups: z
    .record(
      z.string(),
      z.looseObject({ weights: z.looseObject({ group_size: z.int().nullish() }).nullish() }),
    )
    .optional()
    .catch(undefined),
});

/**
 * Reads `quantization_config` of a config.json.
 * @param origin what to call the configuration in errors
 * @throws {ModelError} naming what cannot be read
 */
export function parseQuantization(json: unknown, origin: string): Quantization | null {
  if (json === undefined || json === null) return null;
  if (isMlx(json)) return parseMlx(json, origin);
  const parsed = schema.safeParse(json);
  if (!parsed.success) throw new ModelError(`${origin}: quantization_config is not valid`);
  const { quant_method: stated, ...config } = parsed.data;
  const requireOneOf = (what: string, value: string, supported: readonly string[]): string => {
    if (supported.includes(value)) return value;
    throw new ModelError(
      `${origin}: ${what} "${value}" is not supported (supported: ${supported.join(', ')})`,
    );
  };
  const methodOf = (name: string): string => {
    // Its first configurations have no name of a method.
    if (config.load_in_4bit === true || config.load_in_8bit === true) return 'bitsandbytes';
    if (name === 'modelopt') return modelOptMethod(json, origin);
    if (name !== 'auto-round') return name;
    const packing = config.packing_format ?? 'none';
    return (
      PACKINGS[requireOneOf('AutoRound packing_format', packing, Object.keys(PACKINGS))] ?? name
    );
  };
  const method = methodOf(stated ?? 'unnamed');
  if (method === 'gptq' || method === 'awq') {
    const supported = method === 'awq' ? ['4'] : ['4', '8'];
    requireOneOf(`${method.toUpperCase()} with bits`, String(config.bits ?? 4), supported);
  }
  switch (method) {
    case 'gptq': {
      const name = config.checkpoint_format ?? 'gptq';
      const format = requireOneOf('GPTQ checkpoint_format', name, GPTQ_FORMATS);
      return {
        method,
        groupSize: config.group_size ?? -1,
        isSymmetric: config.sym ?? false,
        zeroOffset: format === 'gptq_v2' ? 0 : 1,
      };
    }
    case 'awq':
      requireOneOf('AWQ version', config.version?.toLowerCase() ?? 'gemm', AWQ_VERSIONS);
      return { method, groupSize: config.group_size ?? -1 };
    case 'compressed-tensors': {
      const name = config.format ?? 'dense';
      const format = requireOneOf('compressed-tensors format', name, COMPRESSED_FORMATS);
      const groups = Object.values(config.config_groups ?? {});
      const sizes = groups.map(({ weights }) => weights?.group_size ?? 0);
      return { method, format, groupSizes: sizes.filter((each) => each > 0) };
    }
    case 'fp8':
    case 'fbgemm_fp8':
      return { method: 'fp8', block: config.weight_block_size ?? null };
    case 'bitsandbytes':
    case 'mxfp4':
    case 'nvfp4':
      return { method };
    default:
      requireOneOf('quant_method', method, [
        'gptq',
        'awq',
        'compressed-tensors',
        'fp8',
        'fbgemm_fp8',
        'bitsandbytes',
        'mxfp4',
        'auto-round',
        'modelopt',
      ]);
      return null;
  }
}
