import type { Family } from './family.ts';

/**
 * How checkpoints of a family have the module that predicts the token after the next one (multi-token prediction):
 * a layer of the model, which reads the embedding of a token and the model's hidden state before it. Embeddings and
 * LM head are the model's own.
 */
export interface PredictionForm {
  /** Prefix of the layer's tensors; `*` stands for the number of the model's layers. */
  readonly layer: string;
  /** Norms of the embedding and of the hidden state, in full without `.weight`; `*` as above. */
  readonly embeddingNorm: string;
  readonly hiddenNorm: string;
  /** The matrix that makes one of both. */
  readonly joined: string;
  /** Norm before the LM head. */
  readonly finalNorm: string;
  /** Order of what `joined` reads. */
  readonly order: 'embedding first' | 'hidden first';
  /** The first position has zeros in place of an embedding. */
  readonly masksFirst: boolean;
  /** Value that stands for the hidden state when the prediction after this one is made. */
  readonly passesOn: 'normalized' | 'sum';
}

/** As DeepSeek V3 has it: a layer more. */
const NEXT_LAYER: PredictionForm = {
  layer: 'model.layers.*',
  embeddingNorm: 'model.layers.*.enorm',
  hiddenNorm: 'model.layers.*.hnorm',
  joined: 'model.layers.*.eh_proj',
  finalNorm: 'model.layers.*.shared_head.norm',
  order: 'embedding first',
  masksFirst: true,
  passesOn: 'sum',
};

const QWEN: PredictionForm = {
  layer: 'mtp.layers.0',
  embeddingNorm: 'mtp.pre_fc_norm_embedding',
  hiddenNorm: 'mtp.pre_fc_norm_hidden',
  joined: 'mtp.fc',
  finalNorm: 'mtp.norm',
  order: 'embedding first',
  masksFirst: false,
  passesOn: 'normalized',
};

const MIMO: PredictionForm = {
  layer: 'model.mtp_layers.0',
  embeddingNorm: 'model.mtp_layers.0.token_layernorm',
  hiddenNorm: 'model.mtp_layers.0.hidden_layernorm',
  joined: 'model.mtp_layers.0.input_proj',
  finalNorm: 'model.mtp_layers.0.final_layernorm',
  order: 'hidden first',
  masksFirst: true,
  passesOn: 'normalized',
};

const FORMS: Readonly<Record<string, PredictionForm>> = {
  deepseek_v3: NEXT_LAYER,
  glm4_moe: NEXT_LAYER,
  glm4_moe_lite: NEXT_LAYER,
  qwen3_next: QWEN,
  qwen3_5_text: QWEN,
  qwen3_5_moe_text: QWEN,
  mimo: MIMO,
};

/** The form of a family's modules, with the number of the model's layers in their names; null if it has none. */
export function predictionForm({ modelType }: Family, numLayers: number): PredictionForm | null {
  const form = FORMS[modelType];
  if (form === undefined) return null;
  const named = (name: string) => name.replace('*', String(numLayers));
  return {
    ...form,
    layer: named(form.layer),
    embeddingNorm: named(form.embeddingNorm),
    hiddenNorm: named(form.hiddenNorm),
    joined: named(form.joined),
    finalNorm: named(form.finalNorm),
  };
}
