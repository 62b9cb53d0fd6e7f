/** The first layer of a tower, with all that happens to a byte before it. */
import { CHANNELS } from '../../images/pixels.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { patchPositions } from './patch-positions.ts';
import { tileTokens } from './siglip-tower.ts';
import type { TileShape } from './vision-config.ts';
import type { Normalization } from './vision-files.ts';

/** Bytes less this are read: so a sum of products is small where an image is gray. */
export const MIDDLE = 128;

/** A convolution of patches, [hiddenSize, CHANNELS, side, side]. */
export interface PatchKernel extends Normalization {
  readonly values: Float32Array;
  readonly hiddenSize: number;
  /** Pixels of a patch. */
  readonly area: number;
}

/** The kernel of a tower over tiles. */
export async function tileKernel(
  weights: WeightSource,
  tensor: string,
  { tower: { hiddenSize, patchSide }, rescale, mean, std }: TileShape,
): Promise<PatchKernel> {
  const shape = [hiddenSize, CHANNELS, patchSide, patchSide];
  const values = await weights.get(`${tensor}.weight`, shape);
  return { values, hiddenSize, area: patchSide ** 2, rescale, mean, std };
}

/**
 * Weights [side * side * 3, channels] of a patch's bytes less MIDDLE, rescaled and normalized: row by row,
 * the channels of a pixel side by side.
 */
export function patchWeights(kernel: PatchKernel): Float32Array {
  const { values, hiddenSize, area, rescale, std } = kernel;
  const made = new Float32Array(values.length);
  for (let channel = 0; channel < CHANNELS; channel++) {
    const factor = rescale / (std[channel] ?? 1);
    for (let pixel = 0; pixel < area; pixel++) {
      const row = (pixel * CHANNELS + channel) * hiddenSize;
      for (let out = 0; out < hiddenSize; out++) {
        const weight = values[(out * CHANNELS + channel) * area + pixel] ?? 0;
        made[row + out] = weight * factor;
      }
    }
  }
  return made;
}

/** Share of MIDDLE and the mean in each channel of a patch, with the bias. */
export function patchConstant(kernel: PatchKernel, bias: Float32Array): Float64Array {
  const { values, hiddenSize, area, rescale, mean, std } = kernel;
  return Float64Array.from({ length: hiddenSize }, (_, out) => {
    let sum = bias[out] ?? 0;
    for (let channel = 0; channel < CHANNELS; channel++) {
      const level = (MIDDLE * rescale - (mean[channel] ?? 0)) / (std[channel] ?? 1);
      const first = (out * CHANNELS + channel) * area;
      for (let pixel = 0; pixel < area; pixel++) sum += (values[first + pixel] ?? 0) * level;
    }
    return sum;
  });
}

/**
 * [tokens, channels]: positions of a tile's patches, and what MIDDLE and the mean leave; before them the class
 * token where there is one.
 */
export async function patchPlaces(
  weights: WeightSource,
  tensors: { readonly kernel: string; readonly table: string; readonly classToken: string },
  shape: TileShape,
): Promise<Float32Array> {
  const { tower, patches } = shape;
  const { hiddenSize, trainedPatches, style } = tower;
  const kernel = await tileKernel(weights, tensors.kernel, shape);
  const bias = style.patchBias
    ? await weights.get(`${tensors.kernel}.bias`, [hiddenSize])
    : new Float32Array(hiddenSize);
  const constant = patchConstant(kernel, bias);
  const rows = tileTokens(trainedPatches, tower);
  const positions = await weights.get(`${tensors.table}.weight`, [rows, hiddenSize]);
  const before = rows - trainedPatches ** 2;
  const made = new Float32Array(tileTokens(patches, tower) * hiddenSize);
  if (style.classToken) {
    const token = await weights.get(tensors.classToken, [hiddenSize]);
    made.set(token.map((each, out) => each + (positions[out] ?? 0)));
  }
  for (const [patch, row] of patchPositions(patches, trainedPatches).entries()) {
    for (let out = 0; out < hiddenSize; out++) {
      const position = positions[(before + row) * hiddenSize + out] ?? 0;
      made[(before + patch) * hiddenSize + out] = position + (constant[out] ?? 0);
    }
  }
  return made;
}
