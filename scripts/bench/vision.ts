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
import type { EncoderPrecision } from '../../src/model/encoder/encoder-nodes.ts';
import type { TileShape } from '../../src/model/vision/vision-config.ts';
import type { Session } from '../../src/ort/session.ts';
import { machineShape } from './lib/machine.ts';
import { embedTile, madeUpTile, openTower, TOWER_SHAPES } from './lib/made-up-towers.ts';
import { timing } from './lib/process-time.ts';
import { Draws } from './lib/random.ts';
import { printTable } from './lib/table.ts';

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
    for (const each of PRECISIONS)
      sessions.set(each, await openTower(folder, shape, each, Number(flags.threads)));
    const times = new Map(PRECISIONS.map((each): [EncoderPrecision, number[]] => [each, []]));
    const near: number[] = [];
    for (let tile = 0; tile < Number(flags.tiles); tile++) {
      const pixels = madeUpTile(shape.tileSide, draws);
      const made = new Map<EncoderPrecision, Float32Array>();
      for (let turn = 0; turn < Number(flags.turns); turn++) {
        for (const [precision, session] of sessions) {
          const start = clock();
          made.set(precision, embedTile(session, pixels));
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
  const shape = TOWER_SHAPES[name];
  if (!shape)
    throw new Error(`no shape ${name}; there are ${Object.keys(TOWER_SHAPES).join(', ')}`);
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
