import { MODEL_LIMITS } from '../../model-limits.ts';
import { ModelError } from '../model-error.ts';
import type { GgufFile } from './gguf-file.ts';

/**
 * Fields of config.json of a model whose layers with a window have other heads than those without: in place of those
 * that all layers share in other models.
 * @param name `general.architecture`
 * @throws {ModelError} if something is missing, or layers of one kind differ
 */
export async function variedFields(
  file: GgufFile,
  name: string,
  layers: number,
): Promise<Readonly<Record<string, unknown>>> {
  const { metadata, paths } = file;
  const [path = ''] = paths;
  if (!(layers >= 1 && layers <= MODEL_LIMITS.layers)) {
    throw new ModelError(`${path}: ${layers} layers are not from 1 to ${MODEL_LIMITS.layers}`);
  }
  const number = (suffix: string) => metadata.number(`${name}.${suffix}`);
  const needed = (suffix: string) => metadata.require(`${name}.${suffix}`, number(suffix));
  /** One for each layer: files give one for all, or a list. */
  const byLayer = (suffix: string): number[] => {
    const key = `${name}.${suffix}`;
    const values = Array.from(metadata.require(key, metadata.numbers(key)));
    const [only] = values;
    if (values.length === 1) return Array.from({ length: layers }, () => only ?? 0);
    if (values.length === layers) return values;
    throw new ModelError(`${path}: ${key} has ${values.length} values for ${layers} layers`);
  };
  const hasDivisors = file.tensor('rope_freqs.weight') !== undefined;
  const areSliding = byLayer('attention.sliding_window_pattern').map(Boolean);
  const kvHeads = byLayer('attention.head_count_kv');
  const headDim = needed('attention.key_length');
  const whole = areSliding.indexOf(false);
  const windowed = areSliding.indexOf(true);
  return {
    head_dim: number('attention.key_length_swa') ?? headDim,
    num_key_value_heads: kvHeads[windowed < 0 ? 0 : windowed],
    per_layer_config: Object.fromEntries(
      areSliding.map((isSliding, layer) => {
        const heads = { num_key_value_heads: kvHeads[layer] };
        return [layer, isSliding ? heads : { ...heads, head_dim: headDim }];
      }),
    ),
    attention_k_eq_v: whole >= 0 && file.tensor(`blk.${whole}.attn_v.weight`) === undefined,
    num_kv_shared_layers: number('attention.shared_kv_layers'),
    intermediate_size: byLayer('feed_forward_length'),
    hidden_size_per_layer_input: number('embedding_length_per_layer_input'),
    vocab_size_per_layer_input: file.tensor('per_layer_token_embd.weight')?.shape[0],
    enable_moe_block: Boolean(number('expert_count')),
    rope_parameters: {
      full_attention: {
        ...(hasDivisors && {
          rope_type: 'proportional',
          partial_rotary_factor: await turningShare(file),
        }),
        rope_theta: needed('rope.freq_base'),
      },
      sliding_attention: { rope_theta: needed('rope.freq_base_swa') },
    },
    ...streamFields(file, name),
  };
}

/** Fields of models that keep several hidden states of each token. */
function streamFields(file: GgufFile, name: string): Readonly<Record<string, unknown>> {
  const { metadata } = file;
  const floors = metadata.numbers(`${name}.activation_sparsity_scale`);
  return {
    altup_num_inputs: metadata.number(`${name}.altup.num_inputs`),
    altup_active_idx: metadata.number(`${name}.altup.active_idx`),
    laurel_rank: file.tensor('blk.0.laurel_l.weight')?.shape[0],
    // Below all gates where none is left out.
    activation_sparsity_scale:
      floors && Array.from(floors, (floor) => (floor === -Infinity ? null : floor)),
  };
}

/** Share of a head that turns: dimensions that stay have a divisor so large that their angle is 0. */
async function turningShare(file: GgufFile): Promise<number> {
  const divisors = await file.read('rope_freqs.weight');
  const numTurning = divisors.filter((divisor) => divisor === 1).length;
  const areFirst = divisors.every((divisor, pair) =>
    pair < numTurning ? divisor === 1 : divisor > 1e20,
  );
  if (areFirst && numTurning > 0) return numTurning / divisors.length;
  const [path = ''] = file.paths;
  throw new ModelError(`${path}: rope_freqs that are neither 1 nor none are not supported`);
}
