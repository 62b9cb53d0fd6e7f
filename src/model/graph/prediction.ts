import { ofLayer } from '../families/family.ts';
import { predictionForm, type PredictionForm } from '../families/prediction.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import { piecesOf, type WeightSource } from '../huggingface/weights.ts';
import { ModelError } from '../model-error.ts';

/** A module that predicts the token after the next one, as the last layer of a decoder. */
export interface Prediction {
  readonly form: PredictionForm;
  /** The model's, with a layer more: the module's. */
  readonly config: DecoderConfig;
  /** The model's, with the module's layer under the name of that layer. */
  readonly weights: WeightSource;
}

/**
 * Finds the module that predicts.
 * @throws {ModelError} if the family or the checkpoint has none
 */
export async function predictionOf(
  model: DecoderConfig,
  weights: WeightSource,
): Promise<Prediction> {
  const { family, numLayers, hiddenSize } = model;
  const form = predictionForm(family, numLayers);
  if (form === null) {
    throw new ModelError(
      `${family.modelType} has no multi-token prediction: leave out --speculative mtp`,
    );
  }
  try {
    await weights.get(`${form.hiddenNorm}.weight`, [hiddenSize]);
  } catch (error) {
    if (!(error instanceof ModelError)) throw error;
    throw new ModelError(
      `this checkpoint's multi-token prediction can't be read: leave out --speculative mtp (${error.message})`,
    );
  }
  return { form, config: withPrediction(model, form), weights: renamed(weights, model, form) };
}

/** The model's, with the module's layer, which attends to all, and has experts if others have. */
export function withPrediction(model: DecoderConfig, form: PredictionForm): DecoderConfig {
  const { family, numLayers, experts, recurrence } = model;
  const { tensors } = family;
  const width = model.intermediateSizes.at(-1) ?? 0;
  return {
    ...model,
    family: { ...family, tensors: { ...tensors, finalNorm: form.finalNorm } },
    numLayers: numLayers + 1,
    intermediateSizes: [...model.intermediateSizes, width],
    rotatedLayers: [...model.rotatedLayers, true],
    slidingWindows: [...model.slidingWindows, null],
    experts: experts && { ...experts, layers: [...experts.layers, true] },
    recurrence: recurrence && { ...recurrence, layers: [...recurrence.layers, false] },
    isLastAlone: true,
    keepsRows: undefined,
    takesImagePositions: undefined,
    takesImageEnds: undefined,
  };
}

/** A checkpoint's name of what would be of the model's next layer; other names as they are. */
export function predictionName(
  name: string,
  { family, numLayers }: DecoderConfig,
  { layer }: PredictionForm,
): string {
  const prefix = ofLayer(family, numLayers, '');
  return name.startsWith(prefix) ? `${layer}.${name.slice(prefix.length)}` : name;
}

/** Weights in which the module's layer has the name of the model's next one. */
function renamed(weights: WeightSource, model: DecoderConfig, form: PredictionForm): WeightSource {
  const stored = (name: string) => predictionName(name, model, form);
  return {
    get: (name, shape) => weights.get(stored(name), shape),
    pieces: (name, shape) => piecesOf(weights, stored(name), shape),
    typeOf: (name) => weights.typeOf?.(stored(name)) ?? null,
    layout: (name, shape) => weights.layout?.(stored(name), shape) ?? null,
    async integers(name, shape) {
      const integers = await weights.integers?.(stored(name), shape);
      if (integers === undefined) throw new TypeError(`tensor "${name}" is not stored in integers`);
      return integers;
    },
    // Threads know the model's own names.
    made: () => null,
    close: () => weights.close(),
  };
}
