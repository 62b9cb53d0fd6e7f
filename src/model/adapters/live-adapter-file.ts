import { randomBytes } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { writingToCache } from '../cache/cache-error.ts';
import { contentHash, sha256 } from '../cache/content-hash.ts';
import { fileExists } from '../../files/file-exists.ts';
import type { KernelSet } from '../manifest.ts';
import { tokenMatrices } from '../graph/layer-matrices.ts';
import { type LiveAdapterShape, roomForRank } from '../graph/live-adapter-shape.ts';
import { inRotaryOrder } from '../graph/rotary-order.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import { ModelError } from '../model-error.ts';
import type { MatrixSource } from '../huggingface/matrix-source.ts';
import { ADAPTER_DTYPES, ADAPTER_FORMATS, type AdapterTensor } from './live-adapter-tensors.ts';
import { adapterFiles, LoraAdapter, type LoraPair } from './lora-adapter.ts';
import type { LowRankPair } from '../native/low-rank-pair.ts';
import { requireFitting } from './merged-weights.ts';
import { makeFolder } from '../../files/make-folder.ts';

/** Raised whenever the file changes. */
const FORMAT_VERSION = 4;

/** An adapter as the engine reads it: what goes into one slot of inputs, by their names. */
export interface LiveAdapterFile {
  /** The same for adapters of the same content, whatever room there is in a slot. */
  readonly id: string;
  /** Absolute path: a safetensors file. */
  readonly path: string;
}

/** Inputs of a model's graphs for live adapters. @param maxRank that they have room for */
export function liveAdapterShape(
  config: DecoderConfig,
  maxRank: number,
  kernels: KernelSet,
): LiveAdapterShape {
  const format = ADAPTER_FORMATS[kernels];
  return { inputs: matricesOf(config).flatMap((matrix) => format.inputs(matrix, maxRank)) };
}

function matricesOf(config: DecoderConfig): MatrixSource[] {
  const layers = Array.from({ length: config.numLayers }, (_, layer) => layer);
  return layers.flatMap((layer) => tokenMatrices(config, layer));
}

/**
 * Writes an adapter's file into the cache, or finds it there.
 * @param folder as PEFT stores it
 * @param maxRank that adapters may have; graphs have room for `roomForRank` of it
 * @param kernels of the graphs that take it
 * @throws {ModelError} if the model can't have it next to others, or at all
 */
export async function prepareLiveAdapter(
  folder: string,
  config: DecoderConfig,
  maxRank: number,
  kernels: KernelSet,
  cacheDirectory: string,
): Promise<LiveAdapterFile> {
  const hashes = [];
  for (const file of await adapterFiles(folder)) {
    hashes.push(await contentHash(file, join(cacheDirectory, 'content-hashes')));
  }
  const id = sha256(JSON.stringify({ FORMAT_VERSION, kernels, hashes, config }));
  const path = join(cacheDirectory, 'adapters', `${id}-${maxRank}.safetensors`);
  if (await fileExists(path)) return { id, path };
  const adapter = await LoraAdapter.open(folder);
  try {
    requireFitting(adapter, config);
    requireLive(adapter, config);
    const tensors = await tensorsOf(adapter, config, maxRank, kernels);
    await writingToCache(cacheDirectory, 'the adapter', async () => {
      await makeFolder(dirname(path));
      const unfinished = `${path}.${randomBytes(6).toString('hex')}`;
      await writeFile(unfinished, piecesOf(tensors), { flush: true });
      await rename(unfinished, path);
    });
  } finally {
    await adapter.close();
  }
  return { id, path };
}

/** Refuses an adapter that can only be merged. */
function requireLive(adapter: LoraAdapter, config: DecoderConfig): void {
  const refuse = (what: string): never => {
    throw new ModelError(
      `${adapter.path} has ${what}, which --adapter can merge, but which requests cannot pick`,
    );
  };
  if (adapter.config.isDora) refuse('DoRA');
  const [replaced] = adapter.replacedTensors();
  if (replaced !== undefined) refuse(`a whole "${replaced}" (modules_to_save)`);
  const tensors = matricesOf(config).flatMap((matrix) => matrix.tensors);
  const live = new Set(tensors.map(({ name }) => moduleOf(name)));
  const other = [...adapter.modules()].find((module) => !live.has(module));
  if (other !== undefined) refuse(`an adapter of "${other}"`);
}

async function tensorsOf(
  adapter: LoraAdapter,
  config: DecoderConfig,
  maxRank: number,
  kernels: KernelSet,
): Promise<AdapterTensor[]> {
  const tensors: AdapterTensor[] = [];
  for (const matrix of matricesOf(config)) {
    const pairs = [];
    for (const { name, rows } of matrix.tensors) {
      pairs.push(await pairOf(adapter, config, name, [rows, matrix.columns], maxRank));
    }
    tensors.push(...ADAPTER_FORMATS[kernels].tensors(matrix, roomForRank(maxRank), pairs));
  }
  return tensors;
}

async function pairOf(
  adapter: LoraAdapter,
  config: DecoderConfig,
  name: string,
  shape: readonly [rows: number, columns: number],
  maxRank: number,
): Promise<LowRankPair | null> {
  const pair = await adapter.pair(moduleOf(name), shape);
  if (pair === null) return null;
  const { rank, scaling, a } = pair;
  if (rank > maxRank) {
    throw new ModelError(`${adapter.path} has rank ${rank}, and --max-lora-rank is ${maxRank}`);
  }
  const b = await rowsInOrder(config, name, shape[0], pair);
  return { rank, a, b: b.map((value) => scaling * value) };
}

/** B with its rows where the graph has those of the matrix. */
function rowsInOrder(
  config: DecoderConfig,
  name: string,
  rows: number,
  { rank, b }: LoraPair,
): Promise<Float32Array> {
  const source = { get: async () => b, close: async () => {} };
  return inRotaryOrder(config, source).get(name, [rows, rank]);
}

function moduleOf(name: string): string {
  return name.replace(/\.weight$/, '');
}

/** A safetensors file, in pieces: in one piece it would hold up this thread's other work. */
function* piecesOf(tensors: readonly AdapterTensor[]): Generator<Uint8Array> {
  const header: Record<string, unknown> = {};
  let end = 0;
  for (const { input, values } of tensors) {
    const { name, type, rows, columns } = input;
    const offsets = [end, end + values.byteLength];
    header[name] = { dtype: ADAPTER_DTYPES[type], shape: [rows, columns], data_offsets: offsets };
    end += values.byteLength;
  }
  const text = JSON.stringify(header);
  // Numbers begin at multiples of 8.
  const padded = Buffer.from(text.padEnd(Math.ceil(text.length / 8) * 8));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.length));
  yield length;
  yield padded;
  for (const { values } of tensors) {
    yield new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  }
}
