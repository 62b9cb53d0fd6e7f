import { numbered } from '../families/family.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import type { SafetensorsWeights } from '../huggingface/safetensors.ts';
import { inOnePiece, type WeightSource } from '../huggingface/weights.ts';
import { ModelError } from '../model-error.ts';
import type { QuantizedWeights } from '../quantized/quantized-weights.ts';
import { WHOLE_NORMS } from '../huggingface/mlx-forms.ts';

/** Names of a layer's experts' matrices in MLX. */
const KINDS: Readonly<Record<string, 'gate' | 'up' | 'down'>> = {
  gate_proj: 'gate',
  up_proj: 'up',
  down_proj: 'down',
  fc1: 'up',
  fc2: 'down',
};

/** A matrix of all of a layer's experts. */
const STACKED = /^(.+\.\d+)\..*\b(?:switch_mlp|switch_glu|experts)\.([a-z0-9_]+)\.([a-z]+)$/;

/** Norms whose factors are stored whole, in families that add 1. */
const NORMS =
  /(?:\.input_layernorm|\.post_attention_layernorm|model\.norm|\.q_norm|\.k_norm)\.weight$/;

/**
 * Gives each expert's matrices names of their own, those of its family, in a checkpoint of MLX.
 * @throws {ModelError} if there is what is not supported
 */
export function nameExperts(weights: SafetensorsWeights, { family, experts }: DecoderConfig): void {
  const names = family.tensors.layer.experts;
  for (const name of [...weights.names()]) {
    if (name.endsWith('.global_scale')) {
      throw new ModelError(`${weights.describe(name)}: global scales of MLX are not supported`);
    }
    const [, layer = '', word = '', suffix = ''] = STACKED.exec(name) ?? [];
    const own = names?.[KINDS[word] ?? 'up'];
    if (!own || KINDS[word] === undefined || !layer.startsWith(family.tensors.layerPrefix))
      continue;
    const count = experts?.count ?? 0;
    weights.nameParts(
      name,
      Array.from({ length: count }, (_, each) => `${layer}.${numbered(own, each)}.${suffix}`),
    );
  }
}

/** A checkpoint of MLX with convolutions and norms in the form that they had before. */
export function mlxWeights(
  plain: SafetensorsWeights,
  stored: QuantizedWeights,
  { family }: DecoderConfig,
): WeightSource {
  // It knows by the same sign whether it has changed a checkpoint.
  const hasTurned = [...plain.names()].some(
    (name) => name.endsWith('conv1d.weight') && plain.entry(name)?.shape.at(-1) === 1,
  );
  const isMoved = hasTurned && WHOLE_NORMS.has(family.modelType);
  return {
    async get(name, shape) {
      const [channels, one, taps] = shape;
      // The same values: one dimension has but one place.
      const turned = [channels, taps, one];
      const isTurned = one === 1 && plain.entry(name)?.shape.join() === turned.join();
      const values = await stored.get(name, isTurned ? turned.map(Number) : shape);
      const isNorm = isMoved && shape.length === 1 && NORMS.test(name);
      return isNorm ? values.map((value) => value - 1) : values;
    },
    pieces(name, shape) {
      return shape.length === 2 ? stored.pieces(name, shape) : inOnePiece(this, name, shape);
    },
    typeOf: (name) => stored.typeOf(name),
    layout: (name, shape) => stored.layout(name, shape),
    integers: (name, shape) => stored.integers(name, shape),
    close: () => stored.close(),
  };
}
