/**
 * How near towers in int8 come to the same in fp32: tiny checkpoints of each family, with random weights.
 *
 *   npx tsx scripts/bench/tower-int8.ts
 *
 * By row of the embeddings: the cosine, and the largest difference as a share of the largest number.
 */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { calibrateVision, visionTensors } from '../../src/encoder/calibrate-vision.ts';
import { cutImage } from '../../src/images/cut-image.ts';
import { ImageDecoder } from '../../src/images/decode.ts';
import type { EncoderPrecision } from '../../src/model/encoder/encoder-nodes.ts';
import { inspectModelFolder } from '../../src/model/folder/model-folder.ts';
import { buildVision } from '../../src/model/vision/build-vision.ts';
import { embeddingWidth } from '../../src/model/vision/tower-size.ts';
import { visionInputs } from '../../src/model/vision/vision-inputs.ts';
import { inspectVision } from '../../src/model/vision/vision-folder.ts';
import type { VisionPart } from '../../src/model/vision/vision-part.ts';
import { runForOutputs } from '../../src/ort/run-for-outputs.ts';
import { Session } from '../../src/ort/session.ts';
import { Tensor } from '../../src/ort/tensor.ts';
import { printTable } from './lib/table.ts';

const FAMILIES = 'test/fixtures/vision';
const PICTURES = join(FAMILIES, 'images');
const LIMITS = { maxPixels: 2 ** 24, maxSeconds: 60 };

const decoder = await ImageDecoder.load();
const cacheDirectory = await mkdtemp(join(tmpdir(), 'chairlift-towers-'));

async function open(part: VisionPart, precision: EncoderPrecision): Promise<Session> {
  const options = { precision, cacheDirectory, calibrate: calibrateVision };
  return new Session(await buildVision(part, options), { intraOpThreads: 1 });
}

async function partOf(path: string): Promise<VisionPart> {
  const folder = await inspectModelFolder(path);
  if (folder.kind === 'export') throw new Error(`${path} is no checkpoint`);
  const part = await inspectVision(folder.path, folder.config.hiddenSize);
  if (part === null) throw new Error(`${path} sees nothing`);
  return part;
}

/** Rows of the embeddings of all parts of an image, one after the other. */
async function embed(session: Session, file: string, { config }: VisionPart): Promise<number[]> {
  const image = await decoder.decode(await readFile(file), LIMITS, 'on white');
  const { tiles, ...grid } = cutImage(image, config.cutting);
  return tiles.flatMap(({ data }) => {
    const inputs = visionTensors(visionInputs(data, grid, config.shape));
    const [made] = runForOutputs(session, inputs, ['embeddings']);
    const values = made instanceof Tensor ? Array.from(made.data, Number) : [];
    for (const tensor of [made, ...inputs.values()]) tensor?.release();
    return values;
  });
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? NaN), 0);
}

/** Cosines, by row. */
function cosines(a: readonly number[], b: readonly number[], width: number): number[] {
  return Array.from({ length: a.length / width }, (_, row) => {
    const [one, other] = [a, b].map((all) => all.slice(row * width, (row + 1) * width));
    if (one === undefined || other === undefined) return NaN;
    return dot(one, other) / Math.sqrt(dot(one, one) * dot(other, other));
  });
}

async function compare(path: string, images: string): Promise<string[]> {
  const part = await partOf(path);
  const sessions = [await open(part, 'fp32'), await open(part, 'int8')] as const;
  const near: number[] = [];
  let far = 0;
  for (const file of (await readdir(images)).filter((name) => !name.endsWith('.json'))) {
    const exact = await embed(sessions[0], join(images, file), part);
    const rounded = await embed(sessions[1], join(images, file), part);
    near.push(...cosines(exact, rounded, embeddingWidth(part.config.shape)));
    const largest = exact.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    for (const [at, value] of exact.entries())
      far = Math.max(far, Math.abs(value - (rounded[at] ?? NaN)) / largest);
  }
  for (const session of sessions) session.release();
  const mean = near.reduce((sum, each) => sum + each, 0) / near.length;
  const shown = [Math.min(...near), mean].map((each) => each.toFixed(5));
  return [path, String(near.length), ...shown, `${(100 * far).toFixed(1)} %`];
}

try {
  const names = (await readdir(FAMILIES)).filter((name) => name !== 'images');
  const rows: string[][] = [];
  for (const name of names) rows.push(await compare(join(FAMILIES, name), PICTURES));
  printTable(['model', 'rows', 'cosine, least', 'mean', 'largest difference'], rows);
} finally {
  await rm(cacheDirectory, { recursive: true, force: true });
}
