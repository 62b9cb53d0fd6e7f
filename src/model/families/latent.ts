/**
 * Names of what a layer has where keys and values come from a latent that all heads share, relative to the
 * layer and without `.weight`.
 */
export interface LatentNames {
  /** Queries, where nothing comes before them. */
  readonly query: string;
  /** Queries by way of a narrower value: to it, its norm, and from it. */
  readonly queryDown: string;
  readonly queryNorm: string;
  readonly queryUp: string;
  /** The latent, with the part of keys that turns, which all heads share. */
  readonly keyValueDown: string;
  readonly keyValueNorm: string;
  /** From the latent to the other part of keys, and values, head by head. */
  readonly keyValueUp: string;
}

export const LATENT: LatentNames = {
  query: 'self_attn.q_proj',
  queryDown: 'self_attn.q_a_proj',
  queryNorm: 'self_attn.q_a_layernorm',
  queryUp: 'self_attn.q_b_proj',
  keyValueDown: 'self_attn.kv_a_proj_with_mqa',
  keyValueNorm: 'self_attn.kv_a_layernorm',
  keyValueUp: 'self_attn.kv_b_proj',
};
