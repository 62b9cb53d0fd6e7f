import type { Family } from '../families/family.ts';
import type { KvHeads } from './layer-parts.ts';

/** Fields of a decoder's configuration in which its layers differ. */
interface LayeredConfig extends KvHeads {
  readonly slidingWindows: readonly (number | null)[];
  readonly wholeHeads?: KvHeads | undefined;
  readonly valuesAreKeys?: true | undefined;
  readonly keyLayers?: readonly number[] | undefined;
}

interface GatedConfig {
  readonly family: Pick<Family, 'gatesAttention' | 'attentionGates'>;
  readonly numHeads: number;
  readonly headDim: number;
}

/** The configuration as a layer has it: with its own heads of keys and values. */
export function atLayer<Config extends LayeredConfig>(config: Config, layer: number): Config {
  const { wholeHeads } = config;
  return wholeHeads === undefined || isWindowed(config, layer)
    ? config
    : { ...config, ...wholeHeads };
}

/** Parts of queries, keys and values that a layer's product gives, from the first on; the rest is another's. */
export function numOwnParts(config: LayeredConfig, layer: number): 1 | 2 | 3 {
  if (keysOf(config, layer) !== layer) return 1;
  return config.valuesAreKeys === true && !isWindowed(config, layer) ? 2 : 3;
}

/** The layer whose keys and values a layer reads: itself, or one before it. */
export function keysOf({ keyLayers }: Pick<LayeredConfig, 'keyLayers'>, layer: number): number {
  return keyLayers?.[layer] ?? layer;
}

/** Values of a token that gate its attention's output; 0 in families whose output stays. */
export function numGates({ family, numHeads, headDim }: GatedConfig): number {
  if (family.attentionGates?.per === 'head') return numHeads;
  const isGated = family.gatesAttention === true || family.attentionGates !== undefined;
  return isGated ? numHeads * headDim : 0;
}

function isWindowed({ slidingWindows }: LayeredConfig, layer: number): boolean {
  return (slidingWindows[layer] ?? null) !== null;
}
