import { join } from 'node:path';

import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import { adapterFiles, LoraAdapter } from '../adapters/lora-adapter.ts';
import { liveAdapterShape } from '../adapters/live-adapter-file.ts';
import { MergedWeights } from '../adapters/merged-weights.ts';
import type { BuildOptions } from './build-options.ts';
import { contentHash } from './content-hash.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import { buildDecoderGraph, buildMixedGraph, buildPagedGraph } from '../graph/decoder-graph.ts';
import type { NumberFormats } from '../graph/number-formats.ts';
import { buildNativeGraph } from '../native/native-decoder.ts';
import {
  type DecoderSource,
  GRAPH_FILE,
  MIXED_GRAPH_FILE,
  PAGED_GRAPH_FILE,
} from './decoder-source.ts';
import type { GgufCheckpoint } from '../gguf/gguf-checkpoint.ts';
import type { HuggingFaceFolder } from '../huggingface/model-folder.ts';
import { countParameters } from '../huggingface/parameter-count.ts';
import { RandomWeights } from '../huggingface/random-weights.ts';
import type { WeightSource } from '../huggingface/weights.ts';

/**
 * Graphs built from the weights of a Hugging Face folder or a GGUF model.
 * @param adapter folder of a LoRA adapter that is added to them; null for none
 */
export function folderSource(
  { config, weightFiles, open }: HuggingFaceFolder | GgufCheckpoint,
  cacheDirectory: string,
  adapter: string | null,
): DecoderSource {
  const index = join(cacheDirectory, 'content-hashes');
  const identity = async () => {
    const files = [...weightFiles, ...(adapter === null ? [] : await adapterFiles(adapter))];
    const hashes: string[] = [];
    for (const file of files) hashes.push(await contentHash(file, index));
    return hashes.join(' ');
  };
  const openMerged = async (): Promise<WeightSource> => {
    if (adapter === null) return open();
    const opened = await LoraAdapter.open(adapter);
    try {
      return new MergedWeights(await open(), opened, config);
    } catch (error) {
      await opened.close();
      throw error;
    }
  };
  return builtSource(config, identity, openMerged);
}

/** Graphs of a shape, with random weights. */
export function randomSource(config: DecoderConfig, seed: number): DecoderSource {
  return builtSource(
    config,
    async () => `random ${seed}`,
    async () => new RandomWeights(seed),
  );
}

function builtSource(
  config: DecoderConfig,
  identity: () => Promise<string>,
  open: () => Promise<WeightSource>,
): DecoderSource {
  return {
    facts: config,
    weightsFolder: null,
    identity,
    write: async (folder, options, kvScales) => {
      const { precision, activationDtype = 'float32', nativeKernels, maxAdapterRank } = options;
      const weights = await open();
      try {
        const formats = { precision, activationDtype, kvScales, maxAdapterRank };
        await writeGraphs(folder, graphsOf(config, weights, formats, options), options);
      } finally {
        await weights.close();
      }
      return {
        family: config.family.modelType,
        precision,
        activationDtype,
        kvCacheDtype: nativeKernels?.kvCacheDtype ?? (kvScales ? 'int8' : activationDtype),
        kernels: nativeKernels ? 'native' : 'onnxruntime',
        numLayers: config.numLayers,
        numKvHeads: config.numKvHeads,
        headDim: config.headDim,
        vocabSize: config.vocabSize,
        maxPositionEmbeddings: config.maxPositionEmbeddings,
        numParameters: countParameters(config),
        adapters:
          maxAdapterRank === undefined ? undefined : liveAdapterShape(config, maxAdapterRank),
      };
    },
  };
}

/** The graphs of a build folder, which share their weights. */
interface Graphs {
  readonly decoder: () => GraphBuilder;
  readonly mixed: () => GraphBuilder;
  /** Null where no provider has a kernel for it. */
  readonly paged: (() => GraphBuilder) | null;
}

function graphsOf(
  config: DecoderConfig,
  weights: WeightSource,
  formats: NumberFormats,
  { nativeKernels }: BuildOptions,
): Graphs {
  if (nativeKernels) {
    const { precision } = formats;
    if (precision !== 'int8' && precision !== 'int4') throw new RangeError('int8 or int4');
    const native = { precision, ...nativeKernels };
    return {
      decoder: () => buildNativeGraph(config, weights, native, ['']),
      mixed: () => buildNativeGraph(config, weights, native, ['', 'prefill.']),
      paged: null,
    };
  }
  return {
    decoder: () => buildDecoderGraph(config, weights, formats),
    mixed: () => buildMixedGraph(config, weights, formats),
    paged:
      formats.activationDtype === 'float16'
        ? () => buildPagedGraph(config, weights, formats)
        : null,
  };
}

async function writeGraphs(
  folder: string,
  { decoder, mixed, paged }: Graphs,
  { onProgress }: BuildOptions,
): Promise<void> {
  const data = await decoder().write(join(folder, GRAPH_FILE), onProgress);
  await mixed().writeSharing(data, join(folder, MIXED_GRAPH_FILE));
  await paged?.().writeSharing(data, join(folder, PAGED_GRAPH_FILE));
}
