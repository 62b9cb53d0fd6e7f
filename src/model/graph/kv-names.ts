type KvPrefix = 'past_key_values' | 'present';

/** Names of the KV cache's graph inputs or outputs: key before value, layer by layer from `first` on. */
export function kvNames(prefix: KvPrefix, numLayers: number, first = 0): string[] {
  const layers = Array.from({ length: numLayers }, (_, layer) => first + layer);
  return layers.flatMap((layer) => layerKvNames(prefix, layer));
}

/** Those of one layer. */
export function layerKvNames(prefix: KvPrefix, layer: number): [key: string, value: string] {
  return [`${prefix}.${layer}.key`, `${prefix}.${layer}.value`];
}
