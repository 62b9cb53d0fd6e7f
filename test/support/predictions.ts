/** Tiny checkpoints with modules that predict, and what they predict: see scripts/references/predictions.py. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

export const PREDICTION_FIXTURES = 'test/fixtures/predictions';

const referenceSchema = z.object({
  max_model_len: z.int(),
  ids: z.array(z.int()),
  greedy: z.array(z.int()),
  /** By the number of tokens that are known. */
  predictions: z.record(
    z.string(),
    z.object({ tokens: z.array(z.int()), logits: z.array(z.number()) }),
  ),
});

export async function readPredictions(name: string) {
  const text = await readFile(join(PREDICTION_FIXTURES, name, 'reference.json'), 'utf8');
  const {
    max_model_len: maxModelLen,
    ids,
    greedy,
    predictions,
  } = referenceSchema.parse(JSON.parse(text));
  const known = Object.entries(predictions).map(([length, each]) => ({
    length: Number(length),
    ...each,
  }));
  return { maxModelLen, text: [...ids, ...greedy], numPrompt: ids.length, greedy, known };
}
