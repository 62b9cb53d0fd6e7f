/**
 * Costs of the stages before the text model for one image, in the shape of SmolVLM-256M with random weights: decoding the
 * file, resizing and cutting it into tiles, and the tower.
 *
 *   npx tsx scripts/bench/image-stages.ts [--turns 5] [--towers fp32,int8] [--cpu-time] [--json]
 *
 * One thread. With --cpu-time the least CPU time counts instead of the median of what a clock says, for machines that
 * others use. What prefill costs, and a server as a whole: scripts/bench/images.ts.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import sharp from 'sharp';
import { z } from 'zod';
import { cutImage, inLowDetail, type TileCutting } from '../../src/images/cut-image.ts';
import { ImageDecoder } from '../../src/images/decode.ts';
import { machineShape } from './lib/machine.ts';
import { embedTile, madeUpTile, openTower, TOWER_SHAPES } from './lib/made-up-towers.ts';
import { timing } from './lib/process-time.ts';
import { Draws } from './lib/random.ts';
import { printTable } from './lib/table.ts';

const SHAPE = 'smolvlm-256m';
const WIDTH = 1024;
const HEIGHT = 768;
const CUTTING: TileCutting = {
  kind: 'tiles',
  longestEdge: 2048,
  tileSide: 512,
  splits: true,
  resample: 'lanczos',
};
const CUTTINGS = { low: inLowDetail(CUTTING), high: CUTTING } as const;
const FORMATS = ['png', 'jpeg', 'webp'] as const;
const LIMITS = { maxPixels: 25_000_000, maxSeconds: 60 };

const { values: flags } = parseArgs({
  options: {
    turns: { type: 'string', default: '5' },
    towers: { type: 'string', default: 'fp32,int8' },
    'cpu-time': { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const towers = z.array(z.enum(['fp32', 'int8'])).parse(flags.towers.split(',').filter(Boolean));
const { clock, typical } = timing(flags['cpu-time']);

/** Milliseconds of a run, of several. */
async function timed(run: () => unknown): Promise<number> {
  const times: number[] = [];
  await run();
  for (let turn = 0; turn < Number(flags.turns); turn++) {
    const start = clock();
    await run();
    times.push(clock() - start);
  }
  return typical(times);
}

/** A picture like a photo: noise that is smooth, with some of it fine. */
async function photo(format: (typeof FORMATS)[number]): Promise<Buffer> {
  const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const;
  const drawn = (width: number, height: number) =>
    sharp({ create: { width, height, channels: 3, background: '#888', noise } });
  const coarse = await drawn(WIDTH / 32, HEIGHT / 32)
    .png()
    .toBuffer();
  return sharp(coarse).resize(WIDTH, HEIGHT, { kernel: 'cubic' }).toFormat(format).toBuffer();
}

const shape = TOWER_SHAPES[SHAPE];
if (shape === undefined) throw new Error(`no shape ${SHAPE}`);
const decoder = await ImageDecoder.load();
const folder = await mkdtemp(join(tmpdir(), 'chairlift-stages-'));
const stages: { readonly stage: string; readonly ms: Readonly<Record<string, number>> }[] = [];
const both = (ms: number) => ({ low: ms, high: ms });
try {
  for (const format of FORMATS) {
    const file = await photo(format);
    const ms = await timed(() => decoder.decode(file, LIMITS, 'on white'));
    stages.push({
      stage: `decode, ${format}, ${Math.round(file.length / 1024)} KiB`,
      ms: both(ms),
    });
  }
  const image = await decoder.decode(await photo('png'), LIMITS, 'on white');
  const tiles = {
    low: cutImage(image, CUTTINGS.low).tiles.length,
    high: cutImage(image, CUTTINGS.high).tiles.length,
  };
  const low = await timed(() => cutImage(image, CUTTINGS.low));
  const high = await timed(() => cutImage(image, CUTTINGS.high));
  stages.push({ stage: 'resize and cut', ms: { low, high } });
  const tile = madeUpTile(shape.tileSide, new Draws(1));
  for (const precision of towers) {
    const session = await openTower(folder, shape, precision, 1);
    const ms = await timed(() => embedTile(session, tile));
    stages.push({
      stage: `encode, ${precision}`,
      ms: { low: tiles.low * ms, high: tiles.high * ms },
    });
    session.release();
  }
  tile.release();
  if (flags.json) {
    console.log(JSON.stringify({ tiles, stages }, null, 2));
  } else {
    console.log(`${machineShape()}, 1 thread, ${SHAPE}, ${WIDTH} x ${HEIGHT}\n`);
    printTable(
      ['stage', ...Object.entries(tiles).map(([name, count]) => `${name}, ${count} tiles, ms`)],
      stages.map(({ stage, ms }) => [
        stage,
        ...Object.keys(tiles).map((name) => (ms[name] ?? NaN).toFixed(0)),
      ]),
    );
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
