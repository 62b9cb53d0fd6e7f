import { readsPositions } from '../families/family.ts';
import { join } from 'node:path';

import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import { liveAdapterShape } from '../adapters/live-adapter-file.ts';
import type { BuildOptions } from './build-options.ts';
import { contentHash } from '../cache/content-hash.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import {
  buildDecoderGraph,
  buildPagedGraph,
  buildPredictionGraph,
  MIXED_GROUPS,
} from '../graph/decoder-graph.ts';
import { decoderStates } from '../graph/decoder-states.ts';
import { seesWholeImages } from '../graph/image-ends.ts';
import { kvHeads, kvWindows, numKvLayers } from '../graph/layer-kinds.ts';
import { layerMatrices } from '../graph/layer-matrices.ts';
import type { NumberFormats } from '../graph/number-formats.ts';
import type { GroupPrefix } from '../graph/token-packing.ts';
import { type Prediction, predictionOf } from '../graph/prediction.ts';
import {
  buildMixedKernels,
  buildNativeGraph,
  buildNativePrediction,
} from '../native/native-decoder.ts';
import {
  type DecoderSource,
  GRAPH_FILE,
  MIXED_GRAPH_FILE,
  PAGED_GRAPH_FILE,
  PREDICTION_GRAPH_FILE,
} from './decoder-source.ts';
import { countParameters } from '../huggingface/parameter-count.ts';
import { withThreads } from './matrix-threads.ts';
import type { Checkpoint, ModelSource } from './model-source.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import { smoothedWeights, type TensorFactors } from '../static/smoothed-weights.ts';

/** Bytes of graphs' initializers that are made ahead where there are threads to make them. */
const BYTES_AHEAD = 128 * 2 ** 20;

/** Graphs built from a model's weights. */
export function builtSource(
  { config, origin, open }: Checkpoint,
  source: ModelSource,
): DecoderSource {
  return {
    facts: config,
    slidingWindows: kvWindows(config),
    weightsFolder: null,
    async identity(cacheDirectory) {
      if ('seed' in origin) return `random ${origin.seed}`;
      const index = join(cacheDirectory, 'content-hashes');
      const hashes: string[] = [];
      for (const file of origin) hashes.push(await contentHash(file, index));
      return hashes.join(' ');
    },
    write: async (folder, options, { kvScales, activations }) => {
      const { precision, activationDtype = 'float32', nativeKernels, maxAdapterRank } = options;
      const { maxModelLen, threads = () => 1 } = options;
      const takesEmbeddings = options.takesEmbeddings || config.crossPositions !== undefined;
      const seen = forImages(config, takesEmbeddings);
      if (seen.takesImageEnds && kvScales) {
        throw new RangeError(
          `images of ${config.family.modelType} take an int8 cache of native kernels alone`,
        );
      }
      const kernels = nativeKernels ? 'native' : 'onnxruntime';
      const numThreads = threads(countParameters(config));
      const factors: TensorFactors = activations?.factors ?? new Map();
      const opened = smoothedWeights(await open(), factors);
      const weights =
        numThreads > 1 ? withThreads(opened, { source, maxModelLen, factors }, numThreads) : opened;
      try {
        const steps = activations?.steps;
        const numbers = { precision, activationDtype, kvScales, steps };
        const formats = { ...numbers, maxAdapterRank, takesEmbeddings };
        const prediction = options.predicts ? await predictionOf(config, weights) : null;
        const keepsRows = options.predicts || undefined;
        const graphs = graphsOf({ ...seen, keepsRows }, weights, formats, options, prediction);
        await writeGraphs(folder, graphs, options, numThreads > 1 ? BYTES_AHEAD : 0);
      } finally {
        await weights.close();
      }
      return {
        family: config.family.modelType,
        precision,
        activationDtype,
        kvCacheDtype: nativeKernels?.kvCacheDtype ?? (kvScales ? 'int8' : activationDtype),
        kernels,
        numLayers: numKvLayers(config),
        predictionLayers: options.predicts ? 1 : undefined,
        numKvHeads: config.numKvHeads,
        headDim: config.headDim,
        layerHeads: kvHeads(config),
        vocabSize: config.vocabSize,
        maxPositionEmbeddings: config.maxPositionEmbeddings,
        numParameters: countParameters(config),
        constantScales: activations && {
          matrices: activations.steps.size,
          of: matricesIn(config),
        },
        adapters:
          maxAdapterRank === undefined
            ? undefined
            : liveAdapterShape(config, maxAdapterRank, kernels),
        takesEmbeddings: takesEmbeddings || undefined,
        takesImageEnds: seen.takesImageEnds,
        slidingWindows: kvWindows(config),
        states: config.recurrence && decoderStates(config),
      };
    },
  };
}

function forImages(config: DecoderConfig, takesEmbeddings = false): DecoderConfig {
  if (!takesEmbeddings) return config;
  const takesImagePositions = config.mropeAxes !== undefined || undefined;
  const takesImageEnds = seesWholeImages(config) || undefined;
  return { ...config, takesImagePositions, takesImageEnds };
}

function matricesIn(config: DecoderConfig): number {
  const layers = Array.from({ length: config.numLayers }, (_, layer) => layer);
  return layers.reduce((sum, layer) => sum + layerMatrices(config, layer).length, 0);
}

/** The graphs of a build folder, which share their weights. */
interface Graphs {
  readonly decoder: () => GraphBuilder;
  readonly mixed: () => GraphBuilder;
  /** Null where no provider has a kernel for it, or positions have embeddings. */
  readonly paged: (() => GraphBuilder) | null;
  /** Null without a module that predicts. */
  readonly prediction: (() => GraphBuilder) | null;
}

function graphsOf(
  config: DecoderConfig,
  weights: WeightSource,
  formats: NumberFormats,
  { nativeKernels }: BuildOptions,
  prediction: Prediction | null,
): Graphs {
  const overSlots = (groups?: readonly GroupPrefix[]) =>
    nativeKernels
      ? buildNativeGraph(config, weights, formats, nativeKernels.kvCacheDtype, groups)
      : config.takesImageEnds
        ? buildMixedKernels(config, weights, formats, groups)
        : buildDecoderGraph(config, weights, formats, groups);
  return {
    decoder: () => overSlots(),
    mixed: () => overSlots(MIXED_GROUPS),
    paged:
      formats.activationDtype === 'float16' && !readsPositions(config.family)
        ? () => buildPagedGraph(config, weights, formats)
        : null,
    prediction:
      prediction &&
      (() => {
        const plain = { ...formats, maxAdapterRank: undefined, takesEmbeddings: undefined };
        return nativeKernels
          ? buildNativePrediction(prediction, plain, nativeKernels.kvCacheDtype)
          : buildPredictionGraph(prediction, plain);
      }),
  };
}

async function writeGraphs(
  folder: string,
  { decoder, mixed, paged, prediction }: Graphs,
  { onProgress }: BuildOptions,
  bytesAhead: number,
): Promise<void> {
  const data = await decoder().write(join(folder, GRAPH_FILE), onProgress, bytesAhead);
  await mixed().writeSharing(data, join(folder, MIXED_GRAPH_FILE));
  await prediction?.().write(join(folder, PREDICTION_GRAPH_FILE), undefined, 0, data);
  await paged?.().writeSharing(data, join(folder, PAGED_GRAPH_FILE));
}
