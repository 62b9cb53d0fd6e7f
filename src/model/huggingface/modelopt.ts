import { z } from 'zod';

import { explainZod } from '../../explain-zod.ts';
import { ModelError } from '../model-error.ts';
import type { HuggingFaceConfig } from './config-schema.ts';

/** File beside config.json with what that does not say of ModelOpt's quantization. */
export const MODELOPT_FILE = 'hf_quant_config.json';

/** How matrices are stored, by what ModelOpt calls it; it scales nothing but them in these. */
const ALGORITHMS: Readonly<Record<string, 'fp8' | 'nvfp4'>> = {
  FP8: 'fp8',
  FP8_PER_CHANNEL_PER_TOKEN: 'fp8',
  NVFP4: 'nvfp4',
  W4A16_NVFP4: 'nvfp4',
};
/** Its name for several of them. */
const MIXED = 'MIXED_PRECISION';

const algorithm = z.string().nullish();
const schema = z.looseObject({
  quant_algo: algorithm,
  quantized_layers: z.record(z.string(), z.looseObject({ quant_algo: algorithm })).optional(),
});
const fileSchema = z.looseObject({ quantization: schema });

/**
 * The method of matrices that ModelOpt quantized.
 * @param json `quantization_config`
 * @throws {ModelError} naming an algorithm that is not supported
 */
export function modelOptMethod(json: unknown, origin: string): 'fp8' | 'nvfp4' {
  const parsed = schema.safeParse(json);
  if (!parsed.success) throw new ModelError(`${origin}: quantization_config is not valid`);
  const { quant_algo: whole, quantized_layers: layers = {} } = parsed.data;
  const names = whole === MIXED ? Object.values(layers).map((each) => each.quant_algo) : [whole];
  const methods = names.map((name) => {
    const method = ALGORITHMS[name ?? ''];
    if (method !== undefined) return method;
    throw new ModelError(
      `${origin}: ModelOpt quant_algo "${name ?? 'none'}" is not supported ` +
        `(supported: ${[...Object.keys(ALGORITHMS), MIXED].join(', ')})`,
    );
  });
  return methods.includes('nvfp4') || methods.length === 0 ? 'nvfp4' : 'fp8';
}

/**
 * A config.json with the quantization that ModelOpt has in a file of its own.
 * @param file content of that
 * @throws {ModelError} if it has none
 */
export function withModelOpt(json: unknown, file: unknown, origin: string): unknown {
  const config: Partial<HuggingFaceConfig> = { ...Object(json) };
  if (config.quantization_config || config.compression_config) return json;
  const parsed = fileSchema.safeParse(file);
  if (!parsed.success) throw new ModelError(`${origin} is not valid: ${explainZod(parsed.error)}`);
  const { quantization } = parsed.data;
  // The KV cache alone may be quantized.
  if (!quantization.quant_algo) return json;
  return { ...config, quantization_config: { ...quantization, quant_method: 'modelopt' } };
}
