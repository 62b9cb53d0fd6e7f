import { join } from 'node:path';

import type { BuildOptions } from './build-options.ts';
import { contentHash } from './content-hash.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import { buildDecoderGraph, buildMixedGraph, buildPagedGraph } from '../graph/decoder-graph.ts';
import type { NumberFormats } from '../graph/number-formats.ts';
import {
  type DecoderSource,
  GRAPH_FILE,
  MIXED_GRAPH_FILE,
  PAGED_GRAPH_FILE,
} from './decoder-source.ts';
import type { HuggingFaceFolder } from '../huggingface/model-folder.ts';
import { countParameters } from '../huggingface/parameter-count.ts';
import { RandomWeights } from '../huggingface/random-weights.ts';
import { SafetensorsWeights } from '../huggingface/safetensors.ts';
import type { WeightSource } from '../huggingface/weights.ts';

/** Graphs built from a Hugging Face folder's weights. */
export function folderSource(
  { config, weightFiles }: HuggingFaceFolder,
  cacheDirectory: string,
): DecoderSource {
  const index = join(cacheDirectory, 'content-hashes');
  const identity = async () => {
    const hashes: string[] = [];
    for (const file of weightFiles) hashes.push(await contentHash(file, index));
    return hashes.join(' ');
  };
  return builtSource(config, identity, () => SafetensorsWeights.open(weightFiles));
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
      const { precision, activationDtype = 'float32' } = options;
      const weights = await open();
      try {
        await writeGraphs(
          folder,
          config,
          weights,
          { precision, activationDtype, kvScales },
          options,
        );
      } finally {
        await weights.close();
      }
      return {
        family: config.family.modelType,
        precision,
        activationDtype,
        kvCacheDtype: kvScales ? 'int8' : activationDtype,
        numLayers: config.numLayers,
        numKvHeads: config.numKvHeads,
        headDim: config.headDim,
        vocabSize: config.vocabSize,
        maxPositionEmbeddings: config.maxPositionEmbeddings,
        numParameters: countParameters(config),
      };
    },
  };
}

async function writeGraphs(
  folder: string,
  config: DecoderConfig,
  weights: WeightSource,
  formats: NumberFormats,
  { onProgress }: BuildOptions,
): Promise<void> {
  const graph = buildDecoderGraph(config, weights, formats);
  const data = await graph.write(join(folder, GRAPH_FILE), onProgress);
  const mixed = buildMixedGraph(config, weights, formats);
  await mixed.writeSharing(data, join(folder, MIXED_GRAPH_FILE));
  if (formats.activationDtype === 'float16') {
    const paged = buildPagedGraph(config, weights, formats);
    await paged.writeSharing(data, join(folder, PAGED_GRAPH_FILE));
  }
}
