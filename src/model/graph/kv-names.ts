type KvPrefix = 'past_key_values' | 'present';

/** Neighbouring layers of a cache. */
export interface KvLayers {
  readonly first: number;
  readonly count: number;
}

/** Names of the KV cache's graph inputs or outputs: key before value, layer by layer from `first` on. */
export function kvNames(prefix: KvPrefix, numLayers: number, first = 0): string[] {
  const layers = Array.from({ length: numLayers }, (_, layer) => first + layer);
  return layers.flatMap((layer) => layerKvNames(prefix, layer));
}

/** Those of one layer. */
export function layerKvNames(prefix: KvPrefix, layer: number): [key: string, value: string] {
  return [`${prefix}.${layer}.key`, `${prefix}.${layer}.value`];
}

/** Names of a cache layer's outputs that another layer gives, too: the same memory, to which both write the same. */
export function sharedKvNames(cacheLayer: number, layer: number): [key: string, value: string] {
  const [key, value] = layerKvNames('present', cacheLayer);
  return [`${key}/${layer}`, `${value}/${layer}`];
}

/** Names of outputs whose memory is that of one output, itself included. */
export function sameMemory(outputs: readonly string[], name: string): string[] {
  return [name, ...outputs.filter((output) => output.startsWith(`${name}/`))];
}

/** Layers of the KV cache that a graph reads, by the names of its inputs. */
export function kvLayers(names: readonly string[]): KvLayers {
  const found = names.flatMap((name) => /^past_key_values\.(\d+)\.key$/.exec(name)?.[1] ?? []);
  const layers = found.map(Number);
  return { first: layers.length === 0 ? 0 : Math.min(...layers), count: layers.length };
}
