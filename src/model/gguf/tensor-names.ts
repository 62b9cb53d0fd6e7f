import type { DecoderConfig } from '../huggingface/config.ts';
import {
  type Family,
  type LayerTensorNames,
  layerTensorNames,
  ofLayer,
} from '../families/family.ts';
import { expertsOf, hasDenseMlp } from '../graph/expert-layers.ts';
import { predictionForm, type PredictionForm } from '../families/prediction.ts';
import { predictionName, withPrediction } from '../graph/prediction.ts';
import type { VariedLayers } from '../families/varied-layers.ts';
import { attends, recurrenceOf } from '../graph/layer-kinds.ts';
import type { Architecture } from './architectures.ts';
import { addRecurrence } from './state-names.ts';
import type { AddPlace, TensorPlace } from './tensor-place.ts';

type NormNames = Pick<Architecture, 'attentionNorm' | 'mlpNorm' | 'finalNorm' | 'isMlpNormBare'>;

/**
 * By the names that a family's tensors have in safetensors. Those of experts have `*` for their number:
 * in a GGUF file they are parts of one tensor.
 */
export function tensorPlaces(config: DecoderConfig, norms: NormNames): Map<string, TensorPlace> {
  const { family, numLayers } = config;
  const { embedding, positions, finalNorm, lmHead } = family.tensors;
  const places = new Map<string, TensorPlace>();
  const add: AddPlace = (name, to, kind, more) => {
    if (name !== null && name !== undefined) places.set(name, { name: to, kind, ...more });
  };
  add(embedding, 'token_embd', 'matrix');
  add(positions, 'position_embd', 'matrix');
  add(finalNorm, norms.finalNorm ?? 'output_norm', 'norm');
  add(lmHead, 'output', 'matrix');
  const { inputs, streams } = family.varied ?? {};
  add(inputs?.embedding, 'per_layer_token_embd', 'matrix');
  add(inputs?.projection, 'per_layer_model_proj', 'matrix');
  add(inputs?.projectionNorm, 'per_layer_proj_norm', 'norm');
  const count = (config.streams?.count ?? 1) - 1;
  add(streams?.projection, 'altup_proj', 'matrix', { count });
  add(streams?.unembedding, 'altup_unembd_proj', 'matrix', { count });
  for (let layer = 0; layer < numLayers; layer++) addLayer(config, layer, norms, add);
  const form = predictionForm(family, numLayers);
  if (form !== null) addPrediction(config, form, norms, add);
  return places;
}

/** Adds the places of a module that predicts: a block more, with what is around its layer. */
function addPrediction(
  config: DecoderConfig,
  form: PredictionForm,
  norms: NormNames,
  add: AddPlace,
): void {
  const { numLayers } = config;
  addLayer(withPrediction(config, form), numLayers, norms, (name, ...place) => {
    if (name !== null && name !== undefined) add(predictionName(name, config, form), ...place);
  });
  const around = (to: string) => `blk.${numLayers}.nextn.${to}`;
  add(form.embeddingNorm, around('enorm'), 'norm');
  add(form.hiddenNorm, around('hnorm'), 'norm');
  add(form.joined, around('eh_proj'), 'matrix');
  add(form.finalNorm, around('shared_head_norm'), 'norm');
}

function addLayer(
  config: DecoderConfig,
  layer: number,
  { attentionNorm = 'attn_norm', mlpNorm = 'ffn_norm', isMlpNormBare }: NormNames,
  add: AddPlace,
): void {
  const { family } = config;
  const names = layerTensorNames(family, layer);
  const block = (to: string) => `blk.${layer}.${to}`;
  const recurrence = recurrenceOf(config, layer);
  if (attends(config, layer)) {
    addAttention(names, block, add);
    const { attentionGates } = family;
    if (attentionGates !== undefined) {
      add(ofLayer(family, layer, attentionGates.tensor), block('attn_gate'), 'matrix');
    }
    addLatent(family, (name) => ofLayer(family, layer, name), block, add);
  }
  if (recurrence !== null) {
    addRecurrence(recurrence, family, (name) => ofLayer(family, layer, name), block, add);
  }
  add(names.attentionNorm, block(attentionNorm), 'norm');
  add(names.attentionOutputNorm, block('post_attention_norm'), 'norm');
  if (isMlpNormBare && names.mlpNorm !== null) {
    add(`${names.mlpNorm}.weight`, block(mlpNorm), 'norm', { suffix: '' });
  } else {
    add(names.mlpNorm, block(mlpNorm), 'norm');
  }
  add(names.mlpOutputNorm, block('post_ffw_norm'), 'norm');
  if (family.varied !== undefined) {
    addVaried(family.varied, (name) => ofLayer(family, layer, name), block, add);
  }
  if (hasDenseMlp(config, layer)) {
    const [gate, up] = names.gateUp;
    // Where they are one matrix it has the second's name.
    add(gate, block(up === undefined ? 'ffn_up' : 'ffn_gate'), 'matrix');
    add(up, block('ffn_up'), 'matrix');
    add(names.down, block('ffn_down'), 'matrix');
  }
  if (names.experts === null || expertsOf(config, layer) === null) return;
  const { router, gate, up, down, correction, factors, shared } = names.experts;
  add(router, block('ffn_gate_inp'), 'matrix');
  add(gate, block('ffn_gate_exps'), 'matrix');
  // Gates and ups, where they are one.
  const isBoth = gate === null && family.gatesMlp;
  add(up, block(isBoth ? 'ffn_gate_up_exps' : 'ffn_up_exps'), 'matrix');
  add(down, block('ffn_down_exps'), 'matrix');
  add(factors, block('ffn_down_exps'), 'matrix', { suffix: '.scale' });
  add(correction, block('exp_probs_b'), 'matrix', { suffix: '.bias' });
  const [sharedGate, sharedUp] = shared?.gateUp ?? [];
  // Where there are no gates it has the second's name.
  add(sharedGate, block(sharedUp === undefined ? 'ffn_up_shexp' : 'ffn_gate_shexp'), 'matrix');
  add(sharedUp, block('ffn_up_shexp'), 'matrix');
  add(shared?.down, block('ffn_down_shexp'), 'matrix');
  add(shared?.share, block('ffn_gate_inp_shexp'), 'matrix');
}

/** Adds the places of what layers have that are not alike. @param full of names relative to the layer */
function addVaried(
  { inputs, scalar, besideMlp, streams }: VariedLayers,
  full: (name: string) => string,
  block: (name: string) => string,
  add: AddPlace,
): void {
  add(full(inputs.gate), block('inp_gate'), 'matrix');
  add(full(inputs.output), block('proj'), 'matrix');
  add(full(inputs.norm), block('post_norm'), 'norm');
  if (scalar !== undefined) add(full(scalar), block('layer_output_scale'), 'matrix');
  if (streams !== undefined) {
    add(full(streams.router), block('altup_router'), 'matrix');
    add(full(streams.routerNorm), block('altup_router_norm'), 'norm');
    add(full(streams.prediction), block('altup_predict_coef'), 'matrix');
    add(full(streams.correction), block('altup_correct_coef'), 'matrix');
    add(full(streams.scale), block('altup_correct_scale'), 'matrix');
    add(full(streams.residual.down), block('laurel_l'), 'matrix');
    add(full(streams.residual.up), block('laurel_r'), 'matrix');
    add(full(streams.residual.norm), block('laurel_post_norm'), 'norm');
  }
  if (besideMlp === undefined) return;
  add(full(besideMlp.mlpNorm), block('post_ffw_norm_1'), 'norm');
  add(full(besideMlp.inputNorm), block('pre_ffw_norm_2'), 'norm');
  add(full(besideMlp.outputNorm), block('post_ffw_norm_2'), 'norm');
  add(full(besideMlp.routerScale), block('ffn_gate_inp'), 'matrix', { suffix: '.scale' });
}

/** Adds the places of tensors of attention from latents. @param full of names relative to the layer */
function addLatent(
  { latentAttention: names }: Family,
  full: (name: string) => string,
  block: (name: string) => string,
  add: AddPlace,
): void {
  if (names === undefined) return;
  add(full(names.query), block('attn_q'), 'matrix');
  add(full(names.queryDown), block('attn_q_a'), 'matrix');
  add(full(names.queryNorm), block('attn_q_a_norm'), 'norm');
  add(full(names.queryUp), block('attn_q_b'), 'matrix');
  add(full(names.keyValueDown), block('attn_kv_a_mqa'), 'matrix');
  add(full(names.keyValueNorm), block('attn_kv_a_norm'), 'norm');
  add(full(names.keyValueUp), block('attn_kv_b'), 'latent');
}

function addAttention(
  names: LayerTensorNames,
  block: (name: string) => string,
  add: AddPlace,
): void {
  const [first, ...others] = names.queryKeyValue;
  const isFused = others.length === 0;
  add(first, block(isFused ? 'attn_qkv' : 'attn_q'), isFused ? 'fused heads' : 'heads');
  add(others[0], block('attn_k'), 'heads');
  add(others[1], block('attn_v'), 'matrix');
  add(names.sinks, block('attn_sinks'), 'matrix');
  add(names.attentionOutput, block('attn_output'), 'matrix');
  add(names.headNorms?.query, block('attn_q_norm'), 'norm');
  add(names.headNorms?.key, block('attn_k_norm'), 'norm');
}
