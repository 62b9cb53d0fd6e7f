import { type DecoderManifest, KV_ELEMENT_TYPES } from '../model/manifest.ts';
import { nativePositionWidth } from '../model/native/position-width.ts';
import { tensorByteLength } from '../ort/element-type.ts';
import { PAGE_BYTES } from '../ort/native-memory.ts';
import { BLOCK_SIZE } from './kv-cache/prefix-index.ts';
import { savingBudget, type WindowBudget, type WindowShape } from './windows/window-budget.ts';

export interface KvShape {
  readonly elementType: (typeof KV_ELEMENT_TYPES)[DecoderManifest['kvCacheDtype']];
  readonly numLayers: number;
  readonly numKvHeads: number;
  /** Elements of a position of a head; with native kernels an int8 one's scale is among them, an int4 one's are bytes. */
  readonly headDim: number;
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
    numKvHeads,
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
    | 'slidingWindows'
  >,
  numSlots: number,
  maxModelLen: number,
): KvShape {
  const numLayers = manifest.numLayers + predictionLayers;
  const elementType = KV_ELEMENT_TYPES[kvCacheDtype];
  const headDim =
    kernels === 'native' ? nativePositionWidth(manifest.headDim, kvCacheDtype) : manifest.headDim;
  let pageLength = BLOCK_SIZE;
  while (tensorByteLength(elementType, [pageLength, headDim]) % PAGE_BYTES !== 0) pageLength *= 2;
  const capacity = Math.ceil(maxModelLen / pageLength) * pageLength;
  const isWindowed = slidingWindows.map((window) => window !== null);
  return {
    elementType,
    numLayers,
    numKvHeads,
    headDim,
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
  { numLayers, pageLength, capacity }: KvShape,
  slidingWindows: DecoderManifest['slidingWindows'],
  how: Pick<WindowShape, 'stepTokens' | 'prefixCaching'>,
): WindowBudget | null {
  const windows = slidingWindows?.filter((window) => window !== null) ?? [];
  const [window, numWindowed] = [Math.max(0, ...windows), windows.length];
  return savingBudget({ window, numLayers, numWindowed, pageLength, capacity, ...how });
}

/** Memory that positions of a slot take, in all layers. */
export function bytesOfPositions(shape: KvShape, numPositions: number): number {
  const { elementType, numLayers, numKvHeads, headDim } = shape;
  return tensorByteLength(elementType, [2 * numLayers, numKvHeads, numPositions, headDim]);
}
