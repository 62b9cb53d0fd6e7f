import type { KvHeads } from '../model/huggingface/layer-parts.ts';
import { type DecoderManifest, KV_ELEMENT_TYPES } from '../model/manifest.ts';
import { nativePositionWidth } from '../model/native/position-width.ts';
import { tensorByteLength } from '../ort/element-type.ts';
import { PAGE_BYTES } from '../ort/native-memory.ts';
import { BLOCK_SIZE } from './kv-cache/prefix-index.ts';
import { savingBudget, type WindowBudget, type WindowShape } from './windows/window-budget.ts';

export interface KvShape {
  readonly elementType: (typeof KV_ELEMENT_TYPES)[DecoderManifest['kvCacheDtype']];
  /**
   * Heads of each layer, none where nothing attends, and elements of a position of a head; with native kernels
   * an int8 one's scale is among them, an int4 one's are bytes.
   */
  readonly heads: readonly KvHeads[];
  readonly numSlots: number;
  /** Positions per slot, in whole pages of ours: every head begins at a page of the system. */
  readonly capacity: number;
  /** By layer, whether it has a sliding window; false where left out. */
  readonly isWindowed: readonly boolean[];
  /** A page: positions of a slot that get memory together, whole pages of the system in every head. */
  readonly pageLength: number;
}

/** The KV cache's shape for a model; a slot has at least `maxModelLen` positions. */
export function kvShape(
  {
    kernels,
    kvCacheDtype,
    predictionLayers = 0,
    slidingWindows = [],
    ...manifest
  }: Pick<
    DecoderManifest,
    | 'kernels'
    | 'kvCacheDtype'
    | 'numLayers'
    | 'predictionLayers'
    | 'numKvHeads'
    | 'headDim'
    | 'layerHeads'
    | 'slidingWindows'
  >,
  numSlots: number,
  maxModelLen: number,
): KvShape {
  const elementType = KV_ELEMENT_TYPES[kvCacheDtype];
  const numLayers = manifest.numLayers + predictionLayers;
  const heads = Array.from({ length: numLayers }, (_, layer) => {
    const { numKvHeads, headDim } = manifest.layerHeads?.[layer] ?? manifest;
    const width = kernels === 'native' ? nativePositionWidth(headDim, kvCacheDtype) : headDim;
    return { numKvHeads, headDim: width };
  });
  const areWhole = (length: number) =>
    heads.every(
      ({ headDim }) => tensorByteLength(elementType, [length, headDim]) % PAGE_BYTES === 0,
    );
  let pageLength = BLOCK_SIZE;
  while (!areWhole(pageLength)) pageLength *= 2;
  const capacity = Math.ceil(maxModelLen / pageLength) * pageLength;
  const isWindowed = slidingWindows.map((window) => window !== null);
  return {
    elementType,
    heads,
    numSlots,
    capacity,
    isWindowed,
    pageLength,
  };
}

/**
 * Budget of memory for layers that have a window; null where texts take no less for it, or none has one.
 * The longest window counts for all.
 */
export function windowBudget(
  shape: KvShape,
  slidingWindows: DecoderManifest['slidingWindows'],
  how: Pick<WindowShape, 'stepTokens' | 'prefixCaching'>,
): WindowBudget | null {
  const { heads, pageLength, capacity, isWindowed } = shape;
  const windows = slidingWindows?.filter((window) => window !== null) ?? [];
  const widths = {
    width: positionWidth(heads),
    windowedWidth: positionWidth(heads.filter((_, layer) => isWindowed[layer] === true)),
  };
  const window = Math.max(0, ...windows);
  return savingBudget({ window, ...widths, pageLength, capacity, ...how });
}

/** Elements of keys, and as many of values, of a position in some layers. */
function positionWidth(heads: readonly KvHeads[]): number {
  return heads.reduce((sum, { numKvHeads, headDim }) => sum + numKvHeads * headDim, 0);
}

/** Memory that positions of a slot take, in all layers. */
export function bytesOfPositions(shape: KvShape, numPositions: number): number {
  const { elementType, heads } = shape;
  return tensorByteLength(elementType, [2, numPositions, positionWidth(heads)]);
}

/** Heads of any layer, of a cache whose layers are alike. @throws RangeError if they are not */
export function sameHeads({ heads: [first, ...others] }: KvShape): KvHeads {
  const isSame = ({ numKvHeads, headDim }: KvHeads) =>
    numKvHeads === first?.numKvHeads && headDim === first.headDim;
  if (first === undefined || !others.every(isSame)) throw new RangeError('layers have other heads');
  return first;
}
