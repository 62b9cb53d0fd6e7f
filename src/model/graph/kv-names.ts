type KvPrefix = 'past_key_values' | 'present';

/** Names of the KV cache's graph inputs or outputs: key before value, layer by layer. */
export function kvNames(prefix: KvPrefix, numLayers: number): string[] {
  return Array.from({ length: numLayers }, (_, layer) => layerKvNames(prefix, layer)).flat();
}

/** Those of one layer. */
export function layerKvNames(prefix: KvPrefix, layer: number): [key: string, value: string] {
  return [`${prefix}.${layer}.key`, `${prefix}.${layer}.value`];
}
