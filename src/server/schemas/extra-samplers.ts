/** Fields of llama-server for samplers that vLLM lacks, with its names and meanings. */
import { z } from 'zod';
import { LIMITS } from '../../limits.ts';
import { boundedList } from './bounded-list.ts';

const breaker = z.string().min(1).max(LIMITS.breakerCharacters);

export const extraSamplerFields = {
  typical_p: z.number().gt(0).max(1).nullish(),
  /** 0 and below is off. */
  top_n_sigma: z.number().min(-1).max(1000).nullish(),
  xtc_probability: z.number().min(0).max(1).nullish(),
  xtc_threshold: z.number().min(0).max(1).nullish(),
  dynatemp_range: z.number().min(0).max(2).nullish(),
  dynatemp_exponent: z.number().min(0).max(10).nullish(),
  dry_multiplier: z.number().min(0).max(100).nullish(),
  dry_base: z.number().min(1).max(100).nullish(),
  dry_allowed_length: z.int().min(1).nullish(),
  /** -1 is all of prompt and output, 0 is off. */
  dry_penalty_last_n: z.int().min(-1).nullish(),
  dry_sequence_breakers: boundedList(breaker, LIMITS.breakers).nullish(),
};

const extraSamplers = z.object(extraSamplerFields);

export type ExtraSamplerFields = z.infer<typeof extraSamplers>;
