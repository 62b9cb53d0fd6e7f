import type { DecoderConfig } from '../huggingface/config.ts';
import type { ExpertConfig } from '../huggingface/expert-config.ts';
import { layerTensorNames, numbered } from '../families/family.ts';
import { hasMlp } from './layer-kinds.ts';
import { fusedParts, type LinearLayer } from './linear.ts';

/** The linear layers of one expert; without gates the first gives what is activated. */
export interface ExpertLayer {
  readonly gateUp: LinearLayer;
  readonly down: LinearLayer;
}

/** Layers of the expert that all tokens share, and the layer that computes its share of a token, if one does. */
export interface SharedExpertLayer extends ExpertLayer {
  readonly share: LinearLayer | null;
}

/** The linear layers that a layer of a decoder has in place of an MLP. */
export interface ExpertLayers {
  readonly router: LinearLayer;
  readonly each: readonly ExpertLayer[];
  readonly shared: SharedExpertLayer | null;
}

export function expertLayers(
  { family, hiddenSize }: DecoderConfig,
  { count, intermediateSize, sharedSize, bias }: ExpertConfig,
  layer: number,
): ExpertLayers {
  const { experts: names } = layerTensorNames(family, layer);
  if (names === null) throw new Error(`${family.modelType} has no experts`);
  const router = {
    name: `layers.${layer}.router`,
    inFeatures: hiddenSize,
    parts: [{ tensor: names.router, outFeatures: count }],
    bias,
  };
  const { gatesMlp } = family;
  const layersOf = (name: string, gateUp: readonly string[], down: string, size: number) => ({
    gateUp: {
      name: `${name}.${gatesMlp ? 'gate_up' : 'up'}`,
      inFeatures: hiddenSize,
      parts: fusedParts(gateUp, gatesMlp ? [size, size] : [size]),
      bias,
    },
    down: {
      name: `${name}.down`,
      inFeatures: size,
      parts: [{ tensor: down, outFeatures: hiddenSize }],
      bias,
    },
  });
  const each = Array.from({ length: count }, (_, expert) => {
    const both = names.gate === null ? [names.up] : [names.gate, names.up];
    const gateUp = both.map((of) => numbered(of, expert));
    const own = `layers.${layer}.experts.${expert}`;
    return layersOf(own, gateUp, numbered(names.down, expert), intermediateSize);
  });
  if (names.shared === null || sharedSize === null) return { router, each, shared: null };
  const { gateUp, down, share: tensor } = names.shared;
  const name = `layers.${layer}.shared_expert`;
  const share = tensor !== null && {
    name: `${name}.share`,
    inFeatures: hiddenSize,
    parts: [{ tensor, outFeatures: 1 }],
    bias: false,
  };
  const layers = layersOf(name, gateUp, down, sharedSize);
  return { router, each, shared: { ...layers, share: share || null } };
}

/** Whether a layer has an MLP, in place of experts or beside them. */
export function hasDenseMlp(config: DecoderConfig, layer: number): boolean {
  const isBeside = config.family.varied?.besideMlp !== undefined;
  return hasMlp(config, layer) && (isBeside || expertsOf(config, layer) === null);
}

/** A layer's experts; null where it has an MLP alone. */
export function expertsOf({ experts }: DecoderConfig, layer: number): ExpertConfig | null {
  return experts?.layers[layer] === true ? experts : null;
}
