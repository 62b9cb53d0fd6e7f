import type { DecoderConfig } from '../huggingface/config.ts';
import type { ExpertConfig } from '../huggingface/expert-config.ts';
import { layerTensorNames, ofExpert } from '../huggingface/families.ts';
import { fusedParts } from './decoder-parts.ts';
import type { LinearLayer } from './linear.ts';

/** The linear layers of one expert. */
export interface ExpertLayer {
  readonly gateUp: LinearLayer;
  readonly down: LinearLayer;
}

/** The linear layers that a layer of a decoder has in place of an MLP: a router's, and each expert's. */
export function expertLayers(
  { family, hiddenSize }: DecoderConfig,
  { count, intermediateSize, bias }: ExpertConfig,
  layer: number,
): { readonly router: LinearLayer; readonly each: readonly ExpertLayer[] } {
  const { experts: names } = layerTensorNames(family, layer);
  if (names === null) throw new Error(`${family.modelType} has no experts`);
  const router = {
    name: `layers.${layer}.router`,
    inFeatures: hiddenSize,
    parts: [{ tensor: names.router, outFeatures: count }],
    bias,
  };
  const each = Array.from({ length: count }, (_, expert) => {
    const name = `layers.${layer}.experts.${expert}`;
    const gateUp = [names.gate, names.up].map((of) => ofExpert(of, expert));
    return {
      gateUp: {
        name: `${name}.gate_up`,
        inFeatures: hiddenSize,
        parts: fusedParts(gateUp, [intermediateSize, intermediateSize]),
        bias,
      },
      down: {
        name: `${name}.down`,
        inFeatures: intermediateSize,
        parts: [{ tensor: ofExpert(names.down, expert), outFeatures: hiddenSize }],
        bias,
      },
    };
  });
  return { router, each };
}

/** A layer's experts; null where it has an MLP. */
export function expertsOf({ experts }: DecoderConfig, layer: number): ExpertConfig | null {
  return experts?.layers[layer] === true ? experts : null;
}
