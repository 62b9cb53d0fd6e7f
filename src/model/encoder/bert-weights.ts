import type { SafetensorsWeights } from '../huggingface/safetensors.ts';
import type { WeightSource } from '../huggingface/weights.ts';

/** Prefixes of a transformer's tensor names in checkpoints with a head. */
const PREFIXES = ['', 'bert.', 'roberta.'];

/** Names of a normalization's tensors in checkpoints that were converted from TensorFlow. */
const OLD_NAMES: Readonly<Record<string, string>> = {
  'LayerNorm.weight': 'LayerNorm.gamma',
  'LayerNorm.bias': 'LayerNorm.beta',
};

/** An encoder's tensors by the names that they have in a checkpoint without a head. */
export function bertWeights(
  checkpoint: Pick<SafetensorsWeights, 'has' | 'get' | 'close'>,
): WeightSource {
  const storedAs = (name: string) => {
    const old = name.replace(/LayerNorm\.\w+$/, (end) => OLD_NAMES[end] ?? end);
    const candidates = PREFIXES.flatMap((prefix) => [`${prefix}${name}`, `${prefix}${old}`]);
    // Where there is none, the error names the tensor as it should be.
    return candidates.find((candidate) => checkpoint.has(candidate)) ?? name;
  };
  return {
    get: (name, shape) => checkpoint.get(storedAs(name), shape),
    close: () => checkpoint.close(),
  };
}
