import type { SafetensorsWeights } from '../huggingface/safetensors.ts';
import type { WeightSource } from '../huggingface/weights.ts';

/** Prefixes of a transformer's tensor names in checkpoints with a head. */
const PREFIXES = [
  '',
  'bert.',
  'roberta.',
  'deberta.',
  'distilbert.',
  'mpnet.',
  'nomic_bert.',
  'new.',
  'gte.',
  'model.',
];

/** Other names of tensors: of norms from TensorFlow, and of a bias that a matrix has, too. */
const OTHER_NAMES: readonly (readonly [end: RegExp, other: string])[] = [
  [/LayerNorm\.weight$/, 'LayerNorm.gamma'],
  [/LayerNorm\.bias$/, 'LayerNorm.beta'],
  [/^cls\.predictions\.bias$/, 'cls.predictions.decoder.bias'],
  [/^lm_head\.bias$/, 'lm_head.decoder.bias'],
];

/** An encoder's tensors by the names that they have in a checkpoint without a head. */
export function encoderWeights(
  checkpoint: Pick<SafetensorsWeights, 'has' | 'get' | 'close'>,
): WeightSource {
  const storedAs = (name: string) => {
    const others = OTHER_NAMES.filter(([end]) => end.test(name));
    const names = [name, ...others.map(([end, other]) => name.replace(end, other))];
    const candidates = PREFIXES.flatMap((prefix) => names.map((each) => `${prefix}${each}`));
    // Where there is none, the error names the tensor as it should be.
    return candidates.find((candidate) => checkpoint.has(candidate)) ?? name;
  };
  return {
    get: (name, shape) => checkpoint.get(storedAs(name), shape),
    close: () => checkpoint.close(),
  };
}
