/** Towers in the shapes of published models, with random weights, and tiles for them. */
import { join } from 'node:path';
import { calibrateVision } from '../../../src/encoder/calibrate-vision.ts';
import { CHANNELS } from '../../../src/images/pixels.ts';
import type { EncoderPrecision } from '../../../src/model/encoder/encoder-nodes.ts';
import { writeEncoder } from '../../../src/model/encoder/write-encoder.ts';
import { RandomWeights } from '../../../src/model/huggingface/random-weights.ts';
import { CLIP, SIGLIP as SIGLIP_STYLE } from '../../../src/model/vision/siglip-tower.ts';
import type { TileShape } from '../../../src/model/vision/vision-config.ts';
import { buildVisionGraph } from '../../../src/model/vision/vision-graph.ts';
import { runForOutputs } from '../../../src/ort/run-for-outputs.ts';
import { Session } from '../../../src/ort/session.ts';
import { Tensor } from '../../../src/ort/tensor.ts';
import type { Draws } from './random.ts';

const NORMALIZED = {
  kind: 'tiles',
  rescale: 1 / 255,
  mean: [0.5, 0.5, 0.5],
  std: [0.5, 0.5, 0.5],
} as const;
const SIGLIP = {
  layerNormEps: 1e-6,
  activation: 'gelu_tanh',
  style: SIGLIP_STYLE,
  outputNorm: true,
} as const;

export const TOWER_SHAPES: Readonly<Record<string, TileShape>> = {
  'smolvlm-256m': {
    ...NORMALIZED,
    tower: {
      ...SIGLIP,
      hiddenSize: 768,
      intermediateSize: 3072,
      numLayers: 12,
      numHeads: 12,
      patchSide: 16,
      trainedPatches: 32,
    },
    tileSide: 512,
    patches: 32,
    connector: { kind: 'shuffle', side: 4 },
    textSize: 576,
  },
  'smolvlm-2.2b': {
    ...NORMALIZED,
    tower: {
      ...SIGLIP,
      hiddenSize: 1152,
      intermediateSize: 4304,
      numLayers: 27,
      numHeads: 16,
      patchSide: 14,
      trainedPatches: 27,
    },
    tileSide: 384,
    patches: 27,
    connector: { kind: 'shuffle', side: 3 },
    textSize: 2048,
  },
  'llava-1.5-7b': {
    ...NORMALIZED,
    tower: {
      layerNormEps: 1e-5,
      activation: 'quick_gelu',
      style: CLIP,
      outputNorm: false,
      hiddenSize: 1024,
      intermediateSize: 4096,
      numLayers: 23,
      numHeads: 16,
      patchSide: 14,
      trainedPatches: 24,
    },
    tileSide: 336,
    patches: 24,
    connector: { kind: 'mlp', side: 1, activation: 'gelu', bias: true },
    textSize: 4096,
  },
};

/** Builds a tower in a folder and opens it. */
export async function openTower(
  folder: string,
  shape: TileShape,
  precision: EncoderPrecision,
  threads: number,
): Promise<Session> {
  const name = `${precision}.onnx`;
  const weights = new RandomWeights(1);
  await writeEncoder(
    folder,
    name,
    precision,
    async (variant) => buildVisionGraph({ shape, weights, ...variant }),
    (graphPath) => calibrateVision(graphPath, shape),
  );
  return new Session(join(folder, name), { intraOpThreads: threads });
}

/** Noise in squares of some pixels each, so that patches differ. */
export function madeUpTile(side: number, draws: Draws): Tensor {
  const square = 2 ** draws.integer(6);
  const across = Math.ceil(side / square);
  const colors = Uint8Array.from({ length: across ** 2 * CHANNELS }, () => draws.integer(256));
  const tile = new Uint8Array(side * side * CHANNELS);
  for (let at = 0; at < tile.length; at++) {
    const pixel = Math.floor(at / CHANNELS);
    const row = Math.floor(Math.floor(pixel / side) / square);
    const color = row * across + Math.floor((pixel % side) / square);
    tile[at] = colors[color * CHANNELS + (at % CHANNELS)] ?? 0;
  }
  return Tensor.over('uint8', [1, side, side, CHANNELS], tile);
}

/** Embeddings of one tile. */
export function embedTile(session: Session, pixels: Tensor): Float32Array {
  const [made] = runForOutputs(session, new Map([['pixels', pixels]]), ['embeddings']);
  const values = made instanceof Tensor ? Float32Array.from(made.data, Number) : new Float32Array();
  made?.release();
  return values;
}
