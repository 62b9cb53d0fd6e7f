import { CHANNELS } from '../../images/pixels.ts';
import type { GridProjector, GridShape } from './grid-shape.ts';
import { tileTokens } from './siglip-tower.ts';
import type { Connector, TileShape } from './vision-config.ts';
import type { VisionShape } from './vision-part.ts';

/** Weights of a tower and its connector. */
export function towerParameters(shape: VisionShape): number {
  return shape.kind === 'grid' ? ofGrid(shape) : ofTiles(shape);
}

const linear = (inFeatures: number, outFeatures: number) => (inFeatures + 1) * outFeatures;
const product = (inFeatures: number, outFeatures: number) => inFeatures * outFeatures;

function ofTiles({ tower, connector, textSize, lineEnd }: TileShape): number {
  const { hiddenSize: width, intermediateSize, numLayers, patchSide, trainedPatches } = tower;
  const { classToken, inputNorm, patchBias } = tower.style;
  const places = tileTokens(trainedPatches, tower) + (classToken ? 1 : 0) + (patchBias ? 1 : 0);
  const patches = (CHANNELS * patchSide ** 2 + places) * width;
  const attention = 4 * linear(width, width);
  const feedForward = linear(width, intermediateSize) + linear(intermediateSize, width);
  const norm = 2 * width;
  const norms = 2 * numLayers + (inputNorm ? 1 : 0) + (tower.outputNorm ? 1 : 0);
  return (
    patches +
    numLayers * (attention + feedForward) +
    norms * norm +
    ofConnector(connector, width, textSize) +
    (lineEnd === undefined ? 0 : textSize)
  );
}

function ofConnector(connector: Connector, width: number, textSize: number): number {
  const from = width * connector.side ** 2;
  switch (connector.kind) {
    case 'pool':
      return width + width * textSize;
    case 'shuffle':
      return from * textSize;
    case 'mlp':
      return (
        (from + textSize + (connector.bias ? 2 : 0)) * textSize +
        (connector.normEps === undefined ? 0 : 2 * from)
      );
  }
}

function ofGrid(shape: GridShape): number {
  const { tower, merge, textSize } = shape;
  const { hiddenSize: width, intermediateSize, numLayers, patchSide, frames } = tower;
  const { tableSide, deepLayers, tensors, bias } = tower;
  const layer = bias ? linear : product;
  const table = tableSide === null ? 0 : (1 + tableSide ** 2) * width;
  const patches = CHANNELS * frames * patchSide ** 2 * width + table;
  const attention = 4 * layer(width, width);
  const first = tensors.first.length * layer(width, intermediateSize);
  const feedForward = first + layer(intermediateSize, width);
  const norm = (tower.norms === 'layer' ? 2 : 1) * width;
  const layers = numLayers * (attention + feedForward + 2 * norm);
  const before = patches + (tower.inputNorm ? norm : 0);
  const { connector } = shape;
  if (connector.kind === 'projector') return before + layers + ofProjector(shape, connector);
  const beside = width * merge ** 2;
  const merger = linear(beside, beside) + linear(beside, textSize);
  const deeper = deepLayers.length * (2 * beside + merger);
  return before + layers + norm + merger + deeper;
}

function ofProjector({ tower, merge, textSize }: GridShape, projector: GridProjector): number {
  const { hiddenSize: width } = tower;
  const layer = projector.bias ? linear : product;
  const merger = projector.mergerEps === null ? 0 : width + (width * merge) ** 2;
  return merger + layer(width, textSize) + layer(textSize, textSize);
}

/** Channels of a row of its embeddings. */
export function embeddingWidth(shape: VisionShape): number {
  return shape.textSize * (1 + (shape.kind === 'grid' ? shape.tower.deepLayers.length : 0));
}
