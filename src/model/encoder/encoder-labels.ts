/** Labels of a classifier, and how its logits are read. */
import { z } from 'zod';
import { MODEL_LIMITS } from '../../model-limits.ts';

export type LabelActivation = 'softmax' | 'sigmoid' | 'identity';

export interface EncoderLabels {
  /** In the order of the logits. */
  readonly names: readonly string[];
  /** By which logits become probabilities: `identity` where they are none. */
  readonly activation: LabelActivation;
}

/** config.json as far as it says something of labels. */
export const labelsShape = {
  num_labels: z.int().positive().max(MODEL_LIMITS.width).nullish(),
  id2label: z.record(z.string(), z.unknown()).nullish(),
  problem_type: z.string().nullish(),
  /** Settings of a cross-encoder, written by newer versions of sentence-transformers. */
  sentence_transformers: z.looseObject({ activation_fn: z.string().nullish() }).nullish(),
};

const BY_PROBLEM: Readonly<Record<string, LabelActivation>> = {
  regression: 'identity',
  single_label_classification: 'softmax',
  multi_label_classification: 'sigmoid',
};

/** As Transformers and vLLM read it: without names they are LABEL_0 and so on. */
export function labelsOf({
  num_labels: count,
  id2label,
  problem_type: problem,
  sentence_transformers: crossEncoder,
}: z.infer<z.ZodObject<typeof labelsShape>>): EncoderLabels {
  const known = id2label ?? {};
  const numLabels = count ?? (Object.keys(known).length || 2);
  const names = Array.from({ length: numLabels }, (_, index) => {
    const name = known[index];
    return typeof name === 'string' ? name : `LABEL_${index}`;
  });
  const named = /identity|sigmoid|softmax/.exec(crossEncoder?.activation_fn?.toLowerCase() ?? '');
  const usual = numLabels === 1 ? 'sigmoid' : 'softmax';
  const activation = (named?.[0] ?? BY_PROBLEM[problem ?? ''] ?? usual) as LabelActivation;
  return { names, activation };
}
