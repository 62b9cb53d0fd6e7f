import { randomBytes } from 'node:crypto';
import { mkdir, open, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { writingToCache } from '../build/cache-error.ts';
import { contentHash, sha256 } from '../build/content-hash.ts';
import { fileExists } from '../build/file-exists.ts';
import { readSafetensorsHeader } from '../huggingface/safetensors-header.ts';
import { tokenMatrices } from '../graph/layer-matrices.ts';
import { type LiveAdapterShape, liveMatrixName } from '../graph/live-adapter-shape.ts';
import { inRotaryOrder } from '../graph/rotary-order.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import { ModelError } from '../model-error.ts';
import { adapterFiles, LoraAdapter, type LoraPair } from './lora-adapter.ts';
import { requireFitting } from './merged-weights.ts';

/** Raised whenever the file changes. */
const FORMAT_VERSION = 3;

/**
 * An adapter as the engine reads it: for each matrix that it has, its two parts, of its own rank. Slots
 * of another server may have another; the adapter is the same there.
 */
export interface LiveAdapterFile {
  /** The same for adapters of the same content. */
  readonly id: string;
  /** Absolute path: a safetensors file. */
  readonly path: string;
}

/** The matrices of a model that live adapters are added to. */
export function liveAdapterShape(config: DecoderConfig, maxRank: number): LiveAdapterShape {
  const matrices = [];
  for (let layer = 0; layer < config.numLayers; layer++) {
    for (const { name, tensors, columns } of tokenMatrices(config, layer)) {
      for (const [part, { rows }] of tensors.entries()) {
        matrices.push({ name: liveMatrixName(name, part), rows, columns });
      }
    }
  }
  return { maxRank, matrices };
}

/**
 * Writes an adapter's file into the cache, or finds it there.
 * @param folder as PEFT stores it
 * @throws {ModelError} if the model can't have it beside others, or at all
 */
export async function prepareLiveAdapter(
  folder: string,
  config: DecoderConfig,
  maxRank: number,
  cacheDirectory: string,
): Promise<LiveAdapterFile> {
  const hashes = [];
  for (const file of await adapterFiles(folder)) {
    hashes.push(await contentHash(file, join(cacheDirectory, 'content-hashes')));
  }
  const id = sha256(JSON.stringify({ FORMAT_VERSION, hashes, config }));
  const path = join(cacheDirectory, 'adapters', `${id}.safetensors`);
  if (!(await fileExists(path))) await writeAdapter(folder, config, path, cacheDirectory);
  const rank = await rankOf(path);
  if (rank > maxRank) {
    throw new ModelError(`${folder} has rank ${rank}, and --max-lora-rank is ${maxRank}`);
  }
  return { id, path };
}

async function writeAdapter(
  folder: string,
  config: DecoderConfig,
  path: string,
  cacheDirectory: string,
): Promise<void> {
  const adapter = await LoraAdapter.open(folder);
  try {
    requireFitting(adapter, config);
    requireLive(adapter, config);
    const tensors = await tensorsOf(adapter, config);
    await writingToCache(cacheDirectory, 'the adapter', async () => {
      await mkdir(dirname(path), { recursive: true });
      const unfinished = `${path}.${randomBytes(6).toString('hex')}`;
      await writeFile(unfinished, piecesOf(tensors), { flush: true });
      await rename(unfinished, path);
    });
  } finally {
    await adapter.close();
  }
}

/** The largest of its matrices. */
async function rankOf(path: string): Promise<number> {
  const file = await open(path);
  try {
    const entries = await readSafetensorsHeader(file, path);
    return Math.max(0, ...[...entries.values()].map(({ shape: [rank = 0] }) => rank));
  } finally {
    await file.close();
  }
}

/** What can only be merged is refused. */
function requireLive(adapter: LoraAdapter, config: DecoderConfig): void {
  const refuse = (what: string): never => {
    throw new ModelError(
      `${adapter.path} has ${what}, which --adapter merges, and no request picks`,
    );
  };
  if (adapter.config.isDora) refuse('DoRA');
  const [replaced] = adapter.replacedTensors();
  if (replaced !== undefined) refuse(`a whole "${replaced}" (modules_to_save)`);
  const live = new Set<string>();
  for (let layer = 0; layer < config.numLayers; layer++) {
    for (const { tensors } of tokenMatrices(config, layer)) {
      for (const { name } of tensors) live.add(moduleOf(name));
    }
  }
  const other = [...adapter.modules()].find((module) => !live.has(module));
  if (other !== undefined) refuse(`an adapter of "${other}"`);
}

interface FloatTensor {
  readonly shape: readonly [number, number];
  readonly values: Float32Array;
}

async function tensorsOf(
  adapter: LoraAdapter,
  config: DecoderConfig,
): Promise<Map<string, FloatTensor>> {
  const tensors = new Map<string, FloatTensor>();
  for (let layer = 0; layer < config.numLayers; layer++) {
    for (const { name: matrix, tensors: parts, columns } of tokenMatrices(config, layer)) {
      for (const [part, { name, rows }] of parts.entries()) {
        const pair = await adapter.pair(moduleOf(name), [rows, columns]);
        if (pair === null) continue;
        const { rank, scaling } = pair;
        const up = new Float32Array(rank * rows);
        const b = await rowsInOrder(config, name, rows, pair);
        for (const [at, value] of b.entries()) {
          up[(at % rank) * rows + Math.floor(at / rank)] = scaling * value;
        }
        const live = liveMatrixName(matrix, part);
        tensors.set(`${live}.down`, { shape: [rank, columns], values: pair.a });
        tensors.set(`${live}.up`, { shape: [rank, rows], values: up });
      }
    }
  }
  return tensors;
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

/** A safetensors file, in pieces: as a whole it would hold up what else this thread does. */
function* piecesOf(tensors: ReadonlyMap<string, FloatTensor>): Generator<Uint8Array> {
  const header: Record<string, unknown> = {};
  let end = 0;
  for (const [name, { shape, values }] of tensors) {
    header[name] = { dtype: 'F32', shape, data_offsets: [end, end + values.byteLength] };
    end += values.byteLength;
  }
  const text = JSON.stringify(header);
  // Numbers begin at multiples of 8.
  const padded = Buffer.from(text.padEnd(Math.ceil(text.length / 8) * 8));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(padded.length));
  yield length;
  yield padded;
  for (const { values } of tensors.values()) {
    yield new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  }
}
