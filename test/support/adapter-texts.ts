/** Texts with adapters of their own, computed together, and what their families' fixtures are. */
import { isAbsolute, join } from 'node:path';
import { expect } from 'vitest';
import { CpuDecoder } from '../../src/engine/cpu/cpu-decoder.ts';
import type { EngineAdapter } from '../../src/engine/request.ts';
import { argmax } from '../../src/engine/sampling/argmax.ts';
import { Sequence } from '../../src/engine/sequence.ts';
import { segmentOf } from '../../src/engine/step.ts';
import { prepareLiveAdapter } from '../../src/model/adapters/live-adapter-file.ts';
import type { BuiltModel, KernelSet, Precision } from '../../src/model/manifest.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import { roomForRank } from '../../src/model/graph/live-adapter-shape.ts';
import { inspectModelFolder } from '../../src/model/folder/model-folder.ts';
import { engineRequest, READS_LOGITS } from './engine-requests.ts';

const FIXTURES = 'test/fixtures';
export const MAX_LENGTH = 64;
const MAX_RANK = 8;

/** The graphs of a test. */
export interface AdapterGraphs {
  readonly precision?: Precision;
  readonly kernels?: KernelSet;
  /** That adapters may have; null for the model without room for any. */
  readonly maxRank?: number | null;
}

/** @param name of a fixture, or an absolute path */
export async function preparedAdapter(
  cacheDirectory: string,
  family: string,
  name: string,
  { kernels = 'onnxruntime', maxRank }: AdapterGraphs = {},
): Promise<EngineAdapter> {
  const folder = await inspectModelFolder(join(FIXTURES, 'families', family), MAX_LENGTH);
  if (folder.kind === 'export') throw new Error('not a folder');
  const path = isAbsolute(name) ? name : join(FIXTURES, 'adapters', name);
  const rank = maxRank ?? MAX_RANK;
  const made = await prepareLiveAdapter(path, folder.config, rank, kernels, cacheDirectory);
  return { ...made, scale: 1 };
}

export function buildWithAdapters(
  cacheDirectory: string,
  family: string,
  { precision = 'fp32', kernels = 'onnxruntime', maxRank = MAX_RANK }: AdapterGraphs = {},
): Promise<BuiltModel> {
  return prepareModel(
    { kind: 'folder', path: join(FIXTURES, 'families', family) },
    {
      precision,
      cacheDirectory,
      maxModelLen: MAX_LENGTH,
      maxAdapterRank: maxRank === null ? undefined : roomForRank(maxRank),
      nativeKernels: kernels === 'native' ? { kvCacheDtype: 'float16' } : undefined,
    },
  );
}

export async function openWithAdapters(
  cacheDirectory: string,
  family: string,
  maxActive: number,
  graphs?: AdapterGraphs,
): Promise<CpuDecoder> {
  const model = await buildWithAdapters(cacheDirectory, family, graphs);
  const adapters = { maxActive, maxCached: 1 };
  return new CpuDecoder(model, { numSlots: 9, maxModelLen: MAX_LENGTH, adapters });
}

export interface AdapterText {
  readonly ids: readonly number[];
  readonly adapter: EngineAdapter | null;
}

/** Logits of all texts, step by step, whose greedy tokens are computed together. */
export function runTogether(decoder: CpuDecoder, texts: readonly AdapterText[], numTokens: number) {
  const sequences = texts.map(({ ids, adapter }, slot) => {
    const request = { sampling: READS_LOGITS, promptTokenIds: Int32Array.from(ids), adapter };
    const sequence = new Sequence(engineRequest(request));
    sequence.slot = slot;
    return { sequence, computed: 0, logits: [] as Float32Array[], tokens: [] as number[] };
  });
  for (let step = 0; step < numTokens; step++) {
    const segments = sequences.map(({ sequence, computed }) =>
      segmentOf(sequence, sequence.numTokens - computed, computed),
    );
    const { logits, failures } = decoder.execute({ cacheOperations: [], segments });
    expect(failures).toEqual([]);
    for (const text of sequences) {
      const found = logits.find(({ segment }) => segment.sequence === text.sequence);
      const row = found?.logits[0]?.slice() ?? new Float32Array();
      text.computed = text.sequence.numTokens;
      text.logits.push(row);
      text.tokens.push(argmax(row));
      text.sequence.append(argmax(row));
    }
  }
  return sequences.map(({ logits, tokens }) => ({ logits, tokens }));
}

/** The largest difference, as a share of the largest magnitude. */
export function deviation(
  actual: ArrayLike<number> | undefined,
  expected: ArrayLike<number>,
): number {
  const values = Array.from(expected);
  const largest = Math.max(...values.map(Math.abs));
  return Math.max(...values.map((value, i) => Math.abs(value - (actual?.[i] ?? NaN)))) / largest;
}
