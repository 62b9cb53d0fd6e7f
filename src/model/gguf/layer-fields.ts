import { ModelError } from '../model-error.ts';
import type { Architecture } from './architectures.ts';
import type { GgufMetadata } from './metadata.ts';

/** A number that files may give for each layer. @throws {ModelError} if layers differ in it */
export function same(metadata: GgufMetadata, key: string, path: string): number | undefined {
  return only(metadata.numbers(key), key, path);
}

/** Keys of what files give for each layer. */
interface LayerKeys {
  readonly kvHeads: string;
  readonly widths: string;
  readonly experts: boolean;
}

/**
 * Fields of config.json on layers: heads of keys and values, of which layers without attention have none, and
 * widths of MLPs. Where layers are one part each, those without MLPs have none.
 */
export function layerFields(
  metadata: GgufMetadata,
  { kvHeads: headsKey, widths: widthsKey, experts }: LayerKeys,
  path: string,
  { recurrentType, hasSingleBlocks }: Architecture,
): Readonly<Record<string, unknown>> {
  const [heads, widths] = [headsKey, widthsKey].map((key) => metadata.numbers(key));
  if (recurrentType === undefined || heads?.includes(0) !== true) {
    return {
      num_key_value_heads: same(metadata, headsKey, path),
      // 0 where no layer has an MLP.
      intermediate_size: same(metadata, widthsKey, path) || undefined,
    };
  }
  const typeOf = (count: number, layer: number) => {
    if (count !== 0) return 'full_attention';
    if (!hasSingleBlocks || !widths?.[layer]) return recurrentType;
    return experts ? 'moe' : 'mlp';
  };
  const stated = hasSingleBlocks ? widths?.filter(Boolean) : widths;
  return {
    num_key_value_heads: only(heads.filter(Boolean), headsKey, path),
    intermediate_size: only(stated, widthsKey, path),
    layer_types: Array.from(heads, typeOf),
  };
}

function only(
  values: ArrayLike<number> | undefined,
  key: string,
  path: string,
): number | undefined {
  const [first, ...others] = new Set(Array.from(values ?? []));
  if (others.length === 0) return first;
  throw new ModelError(`${path}: layers differ in ${key}, which is not supported`);
}
