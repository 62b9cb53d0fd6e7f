import type { ImageShape } from '../model/dual/dual-config.ts';
import { normOutputs } from '../model/encoder/encoder-shape.ts';
import type { ChannelReaches } from '../model/encoder/smoothing.ts';
import { gridNorms } from '../model/vision/grid-graph.ts';
import { visionNorms } from '../model/vision/vision-graph.ts';
import { type VisionInput, visionInputs } from '../model/vision/vision-inputs.ts';
import type { VisionShape } from '../model/vision/vision-part.ts';
import { cutPatches } from '../images/patches.ts';
import { CHANNELS } from '../images/pixels.ts';
import { Tensor } from '../ort/tensor.ts';
import { channelReaches } from './channel-reaches.ts';

/** Waves across a tile, along each side. */
const WAVES = [0, 1, 3, 7];

/** Cells along each side of a made-up part of an image in its own size. */
const CELLS = 8;

/**
 * How large the channels of a tower's normalizations get, over made-up tiles, from plain colors to fine
 * patterns; over images in their own size, where these are parts of one.
 * @param graphPath of a graph that shows normalizations
 */
export function calibrateVision(graphPath: string, shape: VisionShape): ChannelReaches {
  if (shape.kind === 'grid') {
    const { merge, tower } = shape;
    const { patchSide } = tower;
    const side = CELLS * merge * patchSide;
    const image = { width: side, height: WAVES.length * side, data: madeUpTiles(side) };
    const limits = { minPixels: 1, maxPixels: Infinity, resample: 'bicubic' } as const;
    const {
      tiles: [patches],
      ...grid
    } = cutPatches(image, { patchSide, merge, ...limits });
    const given = visionInputs(patches?.data ?? new Uint8Array(), grid, shape);
    return channelReaches(graphPath, visionTensors(given), gridNorms(shape));
  }
  return channelReaches(graphPath, tileInput(shape.tileSide), visionNorms(shape));
}

/** The same of a tower that makes vectors of whole images. */
export function calibrateImages(graphPath: string, shape: ImageShape): ChannelReaches {
  return channelReaches(graphPath, tileInput(shape.imageSide), normOutputs(shape.layers));
}

function tileInput(side: number): Map<string, Tensor> {
  const dims = [WAVES.length, side, side, CHANNELS];
  return new Map([['pixels', Tensor.over('uint8', dims, madeUpTiles(side))]]);
}

function madeUpTiles(side: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.concat(WAVES.map((waves) => madeUpTile(side, waves))));
}

/** By name; the caller releases them. */
export function visionTensors(inputs: readonly VisionInput[]): Map<string, Tensor> {
  const types = { UINT8: 'uint8', FP32: 'float', INT32: 'int32', INT64: 'int64' } as const;
  return new Map(
    inputs.map(({ name, datatype, shape, data }) => [
      name,
      Tensor.over(types[datatype], shape, data),
    ]),
  );
}

function madeUpTile(side: number, waves: number): Uint8Array {
  const tile = new Uint8Array(side * side * CHANNELS);
  for (let at = 0; at < tile.length; at++) {
    const channel = at % CHANNELS;
    const pixel = Math.floor(at / CHANNELS);
    const [x, y] = [(pixel % side) / side, Math.floor(pixel / side) / side];
    const phase = 2 * Math.PI * waves * (channel === 0 ? x : channel === 1 ? y : x + y);
    tile[at] = 127.5 * (1 + Math.cos(phase + channel));
  }
  return tile;
}
