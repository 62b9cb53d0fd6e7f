import { MODEL_LIMITS } from '../../model-limits.ts';
import { ModelError } from '../model-error.ts';
import { architectureOf, type Architecture } from './architectures.ts';
import type { GgufFile } from './gguf-file.ts';
import type { GgufMetadata } from './metadata.ts';
import { latentFields } from './latent-fields.ts';
import { layerFields, same } from './layer-fields.ts';
import { requireTextModel, requireWeights } from './other-files.ts';
import { stateFields } from './state-fields.ts';
import { variedFields } from './varied-fields.ts';
import { endTokenIds } from './text/end-tokens.ts';

/** A GGUF model's equivalent of a config.json. */
export interface GgufConfig {
  readonly architecture: Architecture;
  readonly json: Readonly<Record<string, unknown>>;
}

/** Functions of routers' scores, by llama.cpp's numbers. */
const SCORING: Readonly<Record<number, string>> = { 1: 'softmax', 2: 'sigmoid', 4: 'sqrtsoftplus' };

/**
 * Translates a GGUF model's metadata to the fields of config.json.
 * @throws {ModelError} if something is missing, or the architecture is not supported
 */
export async function readGgufConfig(file: GgufFile): Promise<GgufConfig> {
  requireTextModel(file);
  const { metadata, paths } = file;
  const [path = ''] = paths;
  const name = metadata.require('general.architecture', metadata.string('general.architecture'));
  const key = (suffix: string) => `${name}.${suffix}`;
  const number = (suffix: string) => metadata.number(key(suffix));
  const needed = (suffix: string) => metadata.require(key(suffix), number(suffix));
  const window = number('attention.sliding_window');
  // 0 is none.
  const numExperts = number('expert_count') ?? 0;
  const experts = numExperts > 0;
  const isShared = number('expert_shared_feed_forward_length') !== undefined;
  const traits = {
    windows: window !== undefined,
    'image sections': metadata.numbers(key('rope.dimension_sections')) !== undefined,
    experts,
    'no experts': !experts,
    'joined states': file.isInLayers('ssm_in.weight'),
    'unshared experts': experts && !isShared,
    'shared experts': experts && isShared,
    'two norms': file.tensor('blk.0.attn_norm_2.weight') !== undefined,
    correction: file.isInLayers('exp_probs_b.bias'),
    'finetuned rope': metadata.boolean(key('rope.scaling.finetuned')) === true,
  };
  const architecture = architectureOf(name, traits, path);
  // Those that predict further tokens are the last.
  const layers = needed('block_count') - (number('nextn_predict_layers') ?? 0);
  const hidden = needed('embedding_length');
  const heads = metadata.require(
    key('attention.head_count'),
    same(metadata, key('attention.head_count'), path),
  );
  const headDim = number('attention.key_length') ?? hidden / heads;
  const latent = latentFields(file, name);
  const isSameSize = (number('attention.value_length') ?? headDim) === headDim;
  if (!isSameSize && number('attention.kv_lora_rank') === undefined) {
    throw new ModelError(`${path}: heads of values and keys of different sizes are not supported`);
  }
  const rotaryDim = number('rope.dimension_count') ?? headDim;
  const positions = needed('context_length');
  const keys = {
    kvHeads: key('attention.head_count_kv'),
    widths: key(architecture.mlpWidth ?? 'feed_forward_length'),
    experts,
  };
  requireWeights(file);
  const size = { layers, hidden, heads, headDim, experts: numExperts, window };
  const fields = {
    model_type: architecture.modelType,
    vocab_size: file.tensor('token_embd.weight')?.shape[0],
    hidden_size: hidden,
    num_hidden_layers: layers,
    // 0 where no layer attends.
    ...(heads > 0 && {
      num_attention_heads: heads,
      head_dim: headDim,
      partial_rotary_factor: rotaryDim / headDim,
    }),
    ...(!architecture.isVaried && layerFields(metadata, keys, path, architecture)),
    max_position_embeddings: positions,
    rms_norm_eps:
      number('attention.layer_norm_rms_epsilon') ?? number('attention.layer_norm_epsilon'),
    rope_theta: number('rope.freq_base'),
    rope_local_base_freq: number('rope.freq_base_swa'),
    ...withImagePairs(
      await ropeScaling(file, name, positions, architecture),
      file,
      name,
      architecture,
    ),
    ...deepLayers(number('n_deepstack_layers')),
    use_parallel_residual: metadata.boolean(key('use_parallel_residual')),
    use_qk_norm: file.tensor('blk.0.attn_q_norm.weight') !== undefined,
    attention_bias: ['q', 'qkv'].some((of) => file.isInLayers(`attn_${of}.bias`)),
    lm_head_bias: file.tensor('output.bias') !== undefined,
    attention_out_bias: file.isInLayers('attn_output.bias'),
    mlp_bias: ['gate', 'up'].some((of) => file.tensor(`blk.0.ffn_${of}.bias`) !== undefined),
    tie_word_embeddings: file.tensor('output.weight') === undefined,
    // A window of 0 is none.
    sliding_window: window || undefined,
    ...slidingLayers(metadata, key('attention.sliding_window_pattern'), layers),
    no_rope_layers: rotatedFlags(metadata, key('attention.rope_pattern')),
    attn_logit_softcapping: number('attn_logit_softcapping'),
    final_logit_softcapping: number('final_logit_softcapping'),
    embedding_multiplier: number('embedding_scale'),
    attention_multiplier: number('attention.scale'),
    residual_multiplier: number('residual_scale'),
    [architecture.logitScale ?? 'logits_scaling']: number('logit_scale'),
    ...stateFields(file, name, layers),
    num_local_experts: number('expert_count'),
    num_experts_per_tok: number('expert_used_count'),
    n_group: number('expert_group_count') || undefined,
    topk_group: number('expert_group_used_count') || undefined,
    norm_topk_prob: metadata.boolean(key('expert_weights_norm')),
    scoring_func: SCORING[number('expert_gating_func') ?? 0],
    routed_scaling_factor: number('expert_weights_scale') || undefined,
    moe_intermediate_size: number('expert_feed_forward_length'),
    shared_expert_intermediate_size: number('expert_shared_feed_forward_length'),
    bos_token_id: metadata.number('tokenizer.ggml.bos_token_id'),
    eos_token_id: endTokenIds(metadata),
    first_k_dense_replace: number('leading_dense_block_count'),
    decoder_sparse_step: number('interleave_moe_layer_step'),
    n_shared_experts: number('expert_shared_count'),
    use_bidirectional_attention: metadata.boolean(key('attention.causal')) === false || undefined,
    ...latent,
    ...(architecture.isVaried && (await variedFields(file, name, layers))),
    ...architecture.extra?.(size),
  };
  // Fields that are missing must not hide a family's default.
  const stated = Object.entries(fields).filter(([, value]) => value !== undefined);
  const json = { ...architecture.unstated?.(size), ...Object.fromEntries(stated) };
  return { architecture, json };
}

/** By layer, or every n-th one has none; the family's own rule if the file says nothing. */
function slidingLayers(metadata: GgufMetadata, key: string, layers: number) {
  const pattern = metadata.numbers(key);
  if (pattern === undefined) return {};
  if (pattern.length < layers) return { sliding_window_pattern: pattern[0] || undefined };
  const types = Array.from(pattern.subarray(0, layers), (isSliding) =>
    isSliding ? 'sliding_attention' : 'full_attention',
  );
  return { layer_types: types };
}

/** By layer, 0 where it has no rotary embedding; undefined if the file says nothing. */
function rotatedFlags(metadata: GgufMetadata, key: string): number[] | undefined {
  const pattern = metadata.numbers(key);
  return pattern && Array.from(pattern, Number);
}

/** Models that see have images at several layers: as many as files say, the first ones. */
function deepLayers(count = 0) {
  if (count === 0) return {};
  const indexes = Array.from({ length: Math.min(count, MODEL_LIMITS.layers + 1) }, (_, at) => at);
  return { vision_config: { deepstack_visual_indexes: indexes } };
}

interface RopeFields {
  readonly rope_scaling?: Readonly<Record<string, unknown>>;
}

function withImagePairs<Rope extends RopeFields>(
  rope: Rope,
  { metadata }: GgufFile,
  name: string,
  { imagePairs }: Architecture,
) {
  if (imagePairs === undefined) return rope;
  const key = `${name}.rope.dimension_sections`;
  // The last is for a fourth kind, which none has.
  const sections = [...metadata.require(key, metadata.numbers(key))].slice(0, 3);
  const pairs = { mrope_section: sections, mrope_interleaved: imagePairs === 'in turns' };
  return { ...rope, rope_scaling: { ...rope.rope_scaling, ...pairs } };
}

async function ropeScaling(
  file: GgufFile,
  name: string,
  positions: number,
  { extraOfRope, logMultiplierFactor = 1 }: Architecture,
) {
  const { metadata } = file;
  const number = (suffix: string) => metadata.number(`${name}.rope.${suffix}`);
  const original = number('scaling.original_context_length');
  if (file.tensor('rope_factors_long.weight')) {
    return {
      original_max_position_embeddings: original,
      rope_scaling: {
        rope_type: 'longrope',
        short_factor: [...(await file.read('rope_factors_short.weight'))],
        long_factor: [...(await file.read('rope_factors_long.weight'))],
        attention_factor: number('scaling.attn_factor'),
        ...extraOfRope,
      },
    };
  }
  if (file.tensor('rope_freqs.weight')) {
    // The result of Llama 3's rule: a divisor for each frequency, at any length.
    const factors = [...(await file.read('rope_freqs.weight'))];
    return {
      original_max_position_embeddings: positions,
      rope_scaling: {
        rope_type: 'longrope',
        short_factor: factors,
        long_factor: factors,
        attention_factor: 1,
      },
    };
  }
  const type = metadata.string(`${name}.rope.scaling.type`) ?? 'linear';
  const factor = number('scaling.factor') ?? number('scale_linear');
  const multiplier = number('scaling.yarn_log_multiplier');
  const mscale = multiplier && multiplier * logMultiplierFactor;
  if (type === 'none' || factor === undefined || (type === 'linear' && factor === 1)) return {};
  return {
    rope_scaling: {
      rope_type: type,
      factor,
      original_max_position_embeddings: original,
      beta_fast: number('scaling.yarn_beta_fast'),
      beta_slow: number('scaling.yarn_beta_slow'),
      attention_factor: number('scaling.yarn_attn_factor'),
      mscale,
      mscale_all_dim: mscale,
      llama_4_scaling_beta: metadata.number(`${name}.attention.temperature_scale`),
      ...extraOfRope,
    },
  };
}
