/** Fields of a beam search, with vLLM's names and Transformers' meanings. */
import { z } from 'zod';

/** Powers of a length beyond these are no numbers for texts of some thousand tokens. */
const MAX_LENGTH_PENALTY = 10;

export const beamFields = {
  /** Search for the likeliest texts in place of drawing them; `n` or `best_of` go on at a time. */
  use_beam_search: z.boolean().nullish(),
  /** Power of its length that a text's log-probability is divided by. */
  length_penalty: z.number().min(-MAX_LENGTH_PENALTY).max(MAX_LENGTH_PENALTY).nullish(),
  early_stopping: z
    .union([z.boolean(), z.literal('never')], { error: "expected true, false or 'never'" })
    .nullish(),
};

const beams = z.object(beamFields);

export type BeamFields = z.infer<typeof beams>;
