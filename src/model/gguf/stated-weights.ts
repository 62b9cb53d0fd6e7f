import type { Family } from '../families/family.ts';
import type { GgufFile } from './gguf-file.ts';

/** A weight of xIELU, which files have in their metadata, by layer or for all; null of all others. */
export function statedWeight(
  { metadata }: GgufFile,
  { tensors }: Family,
  name: string,
): Float32Array | null {
  const { activation } = tensors.layer;
  if (activation === null) return null;
  const [layer = '', weight] = name.slice(tensors.layerPrefix.length + 1).split(`.${activation}.`);
  const values = weight === undefined ? undefined : metadata.numbers(`xielu.${weight}`);
  const value = values?.[values.length === 1 ? 0 : Number(layer)];
  return value === undefined ? null : Float32Array.of(value);
}
