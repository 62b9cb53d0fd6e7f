import type { Family } from '../families/family.ts';
import { ModelError } from '../model-error.ts';
import type { HuggingFaceConfig } from './config-schema.ts';

/** An MLP's activation; `gelu_tanh` is GELU approximated with a tanh, `relu2` the square of ReLU. */
export type Activation = 'silu' | 'gelu' | 'gelu_tanh' | 'relu' | 'relu2' | 'xielu';

/** By their names in config.json. */
const ACTIVATIONS: Readonly<Record<string, Activation>> = {
  silu: 'silu',
  gelu: 'gelu',
  gelu_new: 'gelu_tanh',
  gelu_fast: 'gelu_tanh',
  gelu_pytorch_tanh: 'gelu_tanh',
  relu: 'relu',
  relu2: 'relu2',
  xielu: 'xielu',
};

/** @throws {ModelError} for another than these, or one with weights in a family without */
export function parseActivation(
  hf: HuggingFaceConfig,
  { tensors }: Family,
  origin: string,
): Activation {
  const name = hf.hidden_activation ?? hf.hidden_act ?? 'silu';
  const activation = ACTIVATIONS[name];
  const hasWeights = tensors.layer.activation !== null;
  if (activation === undefined || (activation === 'xielu') !== hasWeights) {
    const others = Object.keys(ACTIVATIONS).filter((each) => each !== 'xielu');
    const supported = hasWeights ? 'xielu' : others.join(', ');
    throw new ModelError(
      `${origin}: hidden_act "${name}" is not supported (supported: ${supported})`,
    );
  }
  return activation;
}
