import { atLayer, keysOf } from '../huggingface/layer-heads.ts';
import { layerTensorNames } from '../families/family.ts';
import { gateAttention } from './attention-gates.ts';
import type { DecoderAttention } from './decoder-attention.ts';
import type { DecoderOps } from './decoder-ops.ts';
import type { NormalizedInput } from './decoder-values.ts';
import { emitGatedDelta } from './gated-delta.ts';
import type { HeadNormWeights } from './head-norms.ts';
import { emitLatentAttention } from './latent-attention.ts';
import type { Mixer } from './mixer-layers.ts';
import { emitSelectiveScan } from './selective-scan.ts';
import { emitShortConvolution } from './short-convolution.ts';

/**
 * Adds what a part of a layer makes of each token and those before it, attention or what has a state, up to
 * the linear layer that ends it: returns what that reads, [tokens, n].
 */
export function mixTokens(
  ops: DecoderOps,
  attention: DecoderAttention,
  layer: number,
  { input, gates, recurrence }: Mixer,
  read: NormalizedInput,
): string {
  const value = ops.linear(input, read);
  const { groups } = attention;
  if (recurrence?.kind === 'short convolution') {
    return emitShortConvolution(ops, recurrence, groups, layer, value);
  }
  if (recurrence?.kind === 'selective scan') {
    return emitSelectiveScan(ops, recurrence, groups, layer, value);
  }
  if (recurrence?.kind === 'gated delta' && gates !== null) {
    const { rowsLike } = read;
    const given = { input: value, gates: ops.linear(gates, read), rowsLike };
    return emitGatedDelta(ops, recurrence, groups, layer, given);
  }
  const { latent } = ops.config;
  if (latent !== undefined) return emitLatentAttention(ops, attention, layer, latent, value);
  const norms = headNormsOf(ops, layer);
  return gateAttention(ops, value, (qkv) => attention.attend(layer, qkv, norms));
}

/** Adds the weights of a layer's norms of heads; returns their names. Keys are normalized as their layer does. */
function headNormsOf({ norms, config }: DecoderOps, layer: number): HeadNormWeights | null {
  if (config.family.normalizesTurnedHeads === true && config.rotatedLayers[layer] === true) {
    const ones = norms.ones(config.headDim);
    return { over: 'head', isAfterRope: false, query: ones, key: ones };
  }
  const { headNorms: names } = layerTensorNames(config.family, layer);
  if (names === null) return null;
  const { headNorms: ofKeys } = layerTensorNames(config.family, keysOf(config, layer));
  const { over, isAfterRope, query } = names;
  const { key } = ofKeys ?? names;
  const { numHeads, numKvHeads, headDim } = atLayer(config, layer);
  if (over === 'each head') {
    const ones = norms.ones(headDim);
    const factors = {
      query: norms.weightsOfHeads(query, numHeads, headDim),
      key: norms.weightsOfHeads(key, numKvHeads, headDim),
    };
    return { over, isAfterRope, query: ones, key: ones, factors };
  }
  const [queries, keys] = over === 'head' ? [1, 1] : [numHeads, numKvHeads];
  return {
    over,
    isAfterRope,
    query: norms.weight(query, queries * headDim),
    key: norms.weight(key, keys * headDim),
  };
}
