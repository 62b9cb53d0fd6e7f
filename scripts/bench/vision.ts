/**
 * Cost of a tile of an image in a vision tower, in each precision, and how near int8 comes to fp32: the
 * shapes of published models, with random weights.
 *
 *   npx tsx scripts/bench/vision.ts [--shapes smolvlm-256m] [--tiles 2] [--turns 3] [--threads 2]
 *     [--cpu-time] [--json]
 *
 * Precisions take turns, one tile a run. With --cpu-time the least CPU time counts instead of the median of
 * what a clock says, for machines that others use; give it --threads 1, since threads that wait spin.
 * Weights that were never trained have no channels that are far larger than others: what int8 costs a
 * real tower is more.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { calibrateVision } from '../../src/encoder/calibrate-vision.ts';
import { CHANNELS } from '../../src/images/pixels.ts';
import type { EncoderPrecision } from '../../src/model/encoder/encoder-nodes.ts';
import { writeEncoder } from '../../src/model/encoder/write-encoder.ts';
import { RandomWeights } from '../../src/model/huggingface/random-weights.ts';
import type { TileShape } from '../../src/model/vision/vision-config.ts';
import { buildVisionGraph } from '../../src/model/vision/vision-graph.ts';
import { runForOutputs } from '../../src/ort/run-for-outputs.ts';
import { CLIP, SIGLIP as SIGLIP_STYLE } from '../../src/model/vision/siglip-tower.ts';
import { Session } from '../../src/ort/session.ts';
import { Tensor } from '../../src/ort/tensor.ts';
import { machineShape } from './lib/machine.ts';
import { timing } from './lib/process-time.ts';
import { Draws } from './lib/random.ts';
import { printTable } from './lib/table.ts';

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

const SHAPES: Readonly<Record<string, TileShape>> = {
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

const PRECISIONS: readonly EncoderPrecision[] = ['fp32', 'int8'];

const { values: flags } = parseArgs({
  options: {
    shapes: { type: 'string', default: 'smolvlm-256m' },
    tiles: { type: 'string', default: '2' },
    turns: { type: 'string', default: '3' },
    threads: { type: 'string', default: String(availableParallelism()) },
    'cpu-time': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});

async function open(folder: string, shape: TileShape, precision: EncoderPrecision) {
  const name = `${precision}.onnx`;
  const weights = new RandomWeights(1);
  await writeEncoder(
    folder,
    name,
    precision,
    async (variant) => buildVisionGraph({ shape, weights, ...variant }),
    (graphPath) => calibrateVision(graphPath, shape),
  );
  return new Session(join(folder, name), { intraOpThreads: Number(flags.threads) });
}

/** Noise in squares of some pixels each, so that patches differ. */
function madeUpTile(side: number, draws: Draws): Tensor {
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

function embed(session: Session, pixels: Tensor): Float32Array {
  const [made] = runForOutputs(session, new Map([['pixels', pixels]]), ['embeddings']);
  const values = made instanceof Tensor ? Float32Array.from(made.data, Number) : new Float32Array();
  made?.release();
  return values;
}

/** Cosine of one token's embeddings. */
function cosine(a: Float32Array, b: Float32Array): number {
  const dot = (x: Float32Array, y: Float32Array) =>
    x.reduce((sum, value, index) => sum + value * (y[index] ?? 0), 0);
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b));
}

/** By token, of embeddings in both precisions. */
function cosines(a: Float32Array, b: Float32Array, width: number): number[] {
  return Array.from({ length: a.length / width }, (_, token) => {
    const at = token * width;
    return cosine(a.subarray(at, at + width), b.subarray(at, at + width));
  });
}

async function measure(shape: TileShape) {
  const folder = await mkdtemp(join(tmpdir(), 'chairlift-vision-'));
  const { clock, typical } = timing(flags['cpu-time']);
  const draws = new Draws(1);
  try {
    const sessions = new Map<EncoderPrecision, Session>();
    for (const each of PRECISIONS) sessions.set(each, await open(folder, shape, each));
    const times = new Map(PRECISIONS.map((each): [EncoderPrecision, number[]] => [each, []]));
    const near: number[] = [];
    for (let tile = 0; tile < Number(flags.tiles); tile++) {
      const pixels = madeUpTile(shape.tileSide, draws);
      const made = new Map<EncoderPrecision, Float32Array>();
      for (let turn = 0; turn < Number(flags.turns); turn++) {
        for (const [precision, session] of sessions) {
          const start = clock();
          made.set(precision, embed(session, pixels));
          times.get(precision)?.push(clock() - start);
        }
      }
      const of = (precision: EncoderPrecision) => made.get(precision) ?? new Float32Array();
      near.push(...cosines(of('fp32'), of('int8'), shape.textSize));
      pixels.release();
    }
    for (const session of sessions.values()) session.release();
    return {
      msPerTile: Object.fromEntries([...times].map(([each, ms]) => [each, typical(ms)])),
      leastCosine: Math.min(...near),
      meanCosine: near.reduce((sum, each) => sum + each, 0) / near.length,
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const results = [];
for (const name of flags.shapes.split(',')) {
  const shape = SHAPES[name];
  if (!shape) throw new Error(`no shape ${name}; there are ${Object.keys(SHAPES).join(', ')}`);
  results.push({ name, ...(await measure(shape)) });
}
if (flags.json) {
  console.log(JSON.stringify(results));
} else {
  console.log(`${machineShape()}, ${flags.threads} threads\n`);
  printTable(
    ['shape', ...PRECISIONS.map((each) => `ms a tile, ${each}`), 'cosine of int8, least', 'mean'],
    results.map(({ name, msPerTile, leastCosine, meanCosine }) => [
      name,
      ...PRECISIONS.map((each) => (msPerTile[each] ?? NaN).toFixed(0)),
      leastCosine.toFixed(5),
      meanCosine.toFixed(5),
    ]),
  );
}
