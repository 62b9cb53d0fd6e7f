import { ModelError } from '../model-error.ts';

/** A decoder's size, by what its configuration depends on. */
export interface DecoderSize {
  readonly layers: number;
  readonly hidden: number;
  readonly heads: number;
  readonly headDim: number;
}

/** How a model of a `general.architecture` differs from the same in safetensors. */
export interface Architecture {
  /** `model_type` in config.json. */
  readonly modelType: string;
  /**
   * Rows of queries and keys are in another order: dimensions i and i + half of each head, which turn
   * together, are neighbours.
   */
  readonly pairsRows: boolean;
  /** What the norm before an MLP is called. */
  readonly mlpNorm: 'ffn_norm' | 'post_attention_norm';
  /** Fields of config.json that GGUF files have not. */
  readonly extra?: (size: DecoderSize) => Readonly<Record<string, unknown>>;
  /** Likewise of its `rope_scaling`, if there is any. */
  readonly extraOfRope?: Readonly<Record<string, unknown>>;
}

const plain = (modelType: string): Architecture => ({
  modelType,
  pairsRows: false,
  mlpNorm: 'ffn_norm',
});
const paired = (modelType: string): Architecture => ({ ...plain(modelType), pairsRows: true });

/** Their largest models scale attention by the width of the model over its heads. */
function gemma(modelType: string, layersOfLargest: number): Architecture {
  return {
    ...plain(modelType),
    extra: ({ layers, hidden, heads, headDim }) => ({
      query_pre_attn_scalar: layers === layersOfLargest ? hidden / heads : headDim,
    }),
  };
}

const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  // Mistral's are called this, too.
  llama: paired('llama'),
  qwen2: plain('qwen2'),
  qwen3: plain('qwen3'),
  phi3: plain('phi3'),
  gemma2: gemma('gemma2', 46),
  gemma3: gemma('gemma3_text', 62),
  smollm3: paired('smollm3'),
  granite: paired('granite'),
  olmo2: plain('olmo2'),
  qwen2moe: plain('qwen2_moe'),
  // llama.cpp always does so.
  qwen3moe: { ...plain('qwen3_moe'), extra: () => ({ norm_topk_prob: true }) },
  olmoe: plain('olmoe'),
  granitemoe: paired('granitemoe'),
  'gpt-oss': {
    ...plain('gpt_oss'),
    mlpNorm: 'post_attention_norm',
    extraOfRope: { truncate: false },
  },
  gpt2: plain('gpt2'),
  gptneox: plain('gpt_neox'),
};

/** Variants that files tell by what else they have. */
export interface Traits {
  readonly hasWindows: boolean;
  readonly hasExperts: boolean;
}

/**
 * @param name `general.architecture`
 * @throws {ModelError} naming it, if no graph is built of such models
 */
export function architectureOf(
  name: string,
  { hasWindows, hasExperts }: Traits,
  path: string,
): Architecture {
  // OLMo 3 is OLMo 2 with windows, and Mixtral is Mistral with experts.
  if (name === 'olmo2' && hasWindows) return plain('olmo3');
  if (name === 'llama' && hasExperts) return paired('mixtral');
  const architecture = Object.hasOwn(ARCHITECTURES, name) ? ARCHITECTURES[name] : undefined;
  if (architecture !== undefined) return architecture;
  throw new ModelError(
    `${path}: general.architecture "${name}" is not supported ` +
      `(supported: ${Object.keys(ARCHITECTURES).join(', ')})`,
  );
}
