import { closeSync } from 'node:fs';
import { calibrateKv } from '../../src/engine/cpu/kv-calibration.ts';
import type { EngineRequest, TokenOutput } from '../../src/engine/request.ts';
import { type OpenedEngine, openEngine } from '../../src/engine/process/open-engine.ts';
import type { EngineOptions } from '../../src/engine/process/protocol.ts';
import type { BuildOptions } from '../../src/model/build/build-options.ts';
import { prepareModel } from '../../src/model/build/prepare-model.ts';
import type { BuiltModel, KernelSet, KvCacheDtype, Precision } from '../../src/model/manifest.ts';

export const MAX_SEQS = 5;

/** Precisions, types of the KV cache and kernels that are tried. */
export const COMPUTED: readonly (readonly [Precision, KvCacheDtype, KernelSet])[] = [
  ['fp32', 'float32', 'onnxruntime'],
  ['int8', 'float32', 'onnxruntime'],
  ['int4', 'float32', 'onnxruntime'],
  ['int4', 'int8', 'onnxruntime'],
  ['int8', 'float32', 'native'],
  ['int8', 'int8', 'native'],
  ['int4', 'float16', 'native'],
  ['int8', 'int4', 'native'],
];

/** The embedded model summit. */
export async function buildSummit(
  options: Omit<BuildOptions, 'precision'>,
  [precision, kvCacheDtype, kernels]: (typeof COMPUTED)[number],
): Promise<BuiltModel> {
  const isQuantized = kvCacheDtype === 'int8';
  return prepareModel(
    { kind: 'folder', path: 'models/summit' },
    {
      ...options,
      precision,
      ...(kernels === 'native'
        ? { nativeKernels: { kvCacheDtype } }
        : isQuantized && { calibrateKv }),
    },
  );
}

/** Options of an engine process that are right for summit. */
export const processOptions = (model: BuiltModel): EngineOptions => ({
  model,
  maxNumSeqs: 2,
  maxModelLen: 1024,
  maxNumBatchedTokens: 64,
  threads: 1,
  kvCacheMemory: 2 ** 26,
  prefixCaching: true,
  targetItlMs: null,
});

/** @param maxNumBatchedTokens what prompts are cut by */
export function openCrashing(
  model: BuiltModel,
  maxNumBatchedTokens: number,
  sharedMemoryFd: number | null = null,
): OpenedEngine {
  // Results of native kernels are computed again, to the same bits.
  const durableKv = model.manifest.kernels !== 'native';
  const options = {
    model,
    maxNumSeqs: MAX_SEQS,
    maxModelLen: 128,
    maxNumBatchedTokens,
    threads: 2,
    kvCacheMemory: 2 ** 28,
    prefixCaching: true,
    targetItlMs: null,
    durableKv,
  } as const;
  return openEngine(options, sharedMemoryFd);
}

/** A request that comes at a step. */
export interface Arrival {
  readonly atStep: number;
  readonly request: EngineRequest;
}

/** Outputs by request; the engine is lost before the steps in `crashes`, and another one takes over. */
export function runCrashing(
  model: BuiltModel,
  maxNumBatchedTokens: number,
  arrivals: readonly Arrival[],
  crashes: readonly number[],
): Map<number, TokenOutput[]> {
  let opened = openCrashing(model, maxNumBatchedTokens);
  const { sharedMemoryFd } = opened.info;
  const outputs = new Map(arrivals.map(({ request }) => [request.id, [] as TokenOutput[]]));
  const outputsOf = (request: EngineRequest) => outputs.get(request.id) ?? [];
  const isUnfinished = (request: EngineRequest) => outputsOf(request).length < request.maxTokens;
  for (let step = 0; arrivals.some(({ request }) => isUnfinished(request)); step++) {
    if (crashes.includes(step)) {
      opened.decoder.release();
      opened = openCrashing(model, maxNumBatchedTokens, sharedMemoryFd);
      const begun = arrivals.filter(({ atStep }) => atStep < step).map(({ request }) => request);
      const resumed = begun.filter(isUnfinished).map((request) => ({
        ...request,
        outputTokenIds: Int32Array.from(outputsOf(request), ({ tokenId }) => tokenId),
      }));
      const durable = sharedMemoryFd !== null;
      const added = durable ? opened.engine.adopt(resumed) : resumed;
      for (const request of added) opened.engine.add(request);
    }
    for (const { atStep, request } of arrivals) if (atStep === step) opened.engine.add(request);
    for (const output of opened.engine.step()) outputs.get(output.id)?.push(output);
  }
  opened.decoder.release();
  if (sharedMemoryFd !== null) closeSync(sharedMemoryFd);
  return outputs;
}

/** All that logits show in the outputs, to the last bit. */
export const bitsOf = (outputs: readonly TokenOutput[] = []) =>
  outputs.map(({ tokenId, logprobs }) => ({ tokenId, logprobs }));
