import { CHANNELS } from '../../images/pixels.ts';
import type { GridShape } from './grid-config.ts';
import type { TileShape } from './vision-config.ts';
import type { VisionShape } from './vision-part.ts';

/** Weights of a tower and its connector. */
export function towerParameters(shape: VisionShape): number {
  return shape.kind === 'grid' ? ofGrid(shape) : ofTiles(shape);
}

const linear = (inFeatures: number, outFeatures: number) => (inFeatures + 1) * outFeatures;

function ofTiles({ tower, connector: { kind, side }, textSize }: TileShape): number {
  const { hiddenSize: width, intermediateSize, numLayers, patchSide, trainedPatches } = tower;
  const patches = linear(CHANNELS * patchSide ** 2, width) + trainedPatches ** 2 * width;
  const attention = 4 * linear(width, width);
  const feedForward = linear(width, intermediateSize) + linear(intermediateSize, width);
  const norm = 2 * width;
  const connector = kind === 'pool' ? width + width * textSize : width * side ** 2 * textSize;
  return patches + numLayers * (attention + feedForward + 2 * norm) + norm + connector;
}

function ofGrid({ tower, merge, textSize }: GridShape): number {
  const { hiddenSize: width, intermediateSize, numLayers, patchSide, frames } = tower;
  const { tableSide, deepLayers, tensors } = tower;
  const table = tableSide === null ? 0 : (1 + tableSide ** 2) * width;
  const patches = CHANNELS * frames * patchSide ** 2 * width + table;
  const attention = 4 * linear(width, width);
  const first = tensors.first.length * linear(width, intermediateSize);
  const feedForward = first + linear(intermediateSize, width);
  const norm = (tower.norms === 'layer' ? 2 : 1) * width;
  const beside = width * merge ** 2;
  const merger = linear(beside, beside) + linear(beside, textSize);
  const deeper = deepLayers.length * (2 * beside + merger);
  return patches + numLayers * (attention + feedForward + 2 * norm) + norm + merger + deeper;
}

/** Channels of a row of its embeddings. */
export function embeddingWidth(shape: VisionShape): number {
  return shape.textSize * (1 + (shape.kind === 'grid' ? shape.tower.deepLayers.length : 0));
}
