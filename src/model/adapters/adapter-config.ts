import { z } from 'zod';
import { explainZod } from '../../explain-zod.ts';

import { MODEL_LIMITS } from '../../model-limits.ts';
import { ModelError } from '../model-error.ts';
import { ModulePatterns } from './module-patterns.ts';

const MAX_RANK = 4096;
/** Characters of a pattern that names modules. */
const MAX_PATTERN = 512;

const rank = z.int().positive().max(MAX_RANK);
const patterns = <T extends z.ZodType>(value: T) => z.record(z.string().max(MAX_PATTERN), value);

const schema = z.looseObject({
  peft_type: z.string(),
  r: rank,
  lora_alpha: z.number(),
  use_rslora: z.boolean().nullish(),
  use_dora: z.boolean().nullish(),
  lora_bias: z.boolean().nullish(),
  rank_pattern: patterns(rank).nullish(),
  alpha_pattern: patterns(z.number())
    .refine((record) => Object.keys(record).length <= MODEL_LIMITS.adapterPatterns, {
      error: `more than ${MODEL_LIMITS.adapterPatterns} patterns`,
    })
    .nullish(),
  modules_to_save: z.array(z.string()).nullish(),
  target_parameters: z.array(z.string()).nullish(),
  base_model_name_or_path: z.string().nullish(),
});

/** Fields that are read of a PEFT adapter_config.json. */
export interface AdapterConfig {
  readonly isDora: boolean;
  /** Modules that the adapter has as a whole. */
  readonly modulesToSave: readonly string[];
  /** Factor of a module's product of two matrices. */
  scaling(module: string, rank: number): number;
}

/**
 * @param origin what to call it in errors
 * @throws {ModelError} if it is incomplete, or of a kind that can't be merged
 */
export function parseAdapterConfig(json: unknown, origin: string): AdapterConfig {
  const parsed = schema.safeParse(json);
  if (!parsed.success) {
    throw new ModelError(
      `${origin} is not a valid adapter configuration: ${explainZod(parsed.error)}`,
    );
  }
  const config = parsed.data;
  const refuse = (what: string): never => {
    throw new ModelError(`${origin}: ${what} is not supported (supported: LoRA of linear layers)`);
  };
  if (config.peft_type !== 'LORA') refuse(`peft_type ${config.peft_type}`);
  if (config.lora_bias === true) refuse('lora_bias');
  if ((config.target_parameters ?? []).length > 0) refuse('target_parameters');
  const matchers = new ModulePatterns(origin);
  const alphas = Object.entries(config.alpha_pattern ?? {}).map(
    ([pattern, alpha]) => [matchers.matcher(pattern), alpha] as const,
  );
  return {
    isDora: config.use_dora === true,
    modulesToSave: config.modules_to_save ?? [],
    scaling(module, rankOfModule) {
      const alpha = alphas.find(([matches]) => matches(module))?.[1] ?? config.lora_alpha;
      return alpha / (config.use_rslora === true ? Math.sqrt(rankOfModule) : rankOfModule);
    },
  };
}
