import type { Family } from '../families/family.ts';
import type { DecoderConfig } from './config.ts';
import type { ExpertConfig } from './expert-config.ts';
import { atLayer, numGates, numOwnParts } from './layer-heads.ts';
import type { LatentAttention } from './latent-config.ts';
import type { RecurrentConfig } from './recurrent-config.ts';

/** Number of trained values in a model. A tied embedding counts once. */
export function countParameters(config: DecoderConfig): number {
  const { hiddenSize, intermediateSizes, vocabSize, headDim } = config;
  const queries = config.numHeads * headDim;
  const queriesKeysValues = numGates(config) + queries + 2 * config.numKvHeads * headDim;
  const attention =
    config.latent === undefined
      ? countAttention(config, queries, queriesKeysValues)
      : countLatent(config, config.latent);
  const mlps = intermediateSizes.map((width, layer) =>
    config.blocks?.[layer] === 'mixer'
      ? 0
      : config.experts?.layers[layer] === true
        ? countExperts(config.experts, hiddenSize, config.family)
        : mlp(hiddenSize, width, config.mlpBias, config.family.gatesMlp),
  );
  const sinks = config.family.tensors.layer.sinks === null ? 0 : config.numHeads;
  const { headNorms, attentionNorm, attentionOutputNorm, mlpNorm, mlpOutputNorm, activation } =
    config.family.tensors.layer;
  const ofActivation = activation === null ? 0 : 2;
  const layerNorms = [attentionNorm, attentionOutputNorm, mlpNorm, mlpOutputNorm];
  const numNorms = layerNorms.filter((name) => name !== null).length;
  const numNormedHeads = headNorms?.over === 'head' ? 2 : config.numHeads + config.numKvHeads;
  const normSize = hiddenSize * (config.family.norms === 'layer' ? 2 : 1);
  const headNormSize = headNorms === null ? 0 : numNormedHeads * headDim;
  const { crossPositions = 0 } = config;
  const { positions, firstPosition } = config.family.tensors;
  const numPositions =
    positions === null ? 0 : firstPosition + config.maxPositionEmbeddings - crossPositions;
  const embeddings =
    ((config.tieWordEmbeddings ? 1 : 2) * vocabSize + numPositions) * hiddenSize +
    Number(config.lmHeadBias) * vocabSize;
  const { recurrence, blocks } = config;
  const numRecurrent = recurrence?.layers.filter(Boolean).length ?? 0;
  const numMlps = blocks?.filter((block) => block === 'mlp').length ?? 0;
  const numBeside = recurrence?.isBesideAttention === true ? numRecurrent : 0;
  // Keys have no bias, those of attention to the text neither.
  const cross =
    crossPositions === 0 ? 0 : 4 * hiddenSize * queries + queries + hiddenSize + normSize;
  const mixers =
    (config.numLayers - numMlps - numRecurrent + numBeside) * (attention + sinks + headNormSize) +
    (recurrence ? numRecurrent * countRecurrent(recurrence, hiddenSize) : 0);
  const rest = config.numLayers * ((blocks ? 1 : numNorms) * normSize + ofActivation + cross);
  const ofMlps = mlps.reduce((sum, each) => sum + each, 0);
  return (
    embeddings + mixers + rest + ofMlps + normSize + countVaried(config, attention + headNormSize)
  );
}

function countAttention(
  { hiddenSize, queryKeyValueBias, attentionOutputBias }: DecoderConfig,
  queries: number,
  queriesKeysValues: number,
): number {
  return (
    (hiddenSize + Number(queryKeyValueBias)) * queriesKeysValues +
    (queries + Number(attentionOutputBias)) * hiddenSize
  );
}

/**
 * How many more a model has whose layers are not alike: of their attention, of embeddings of their own, and of
 * norms and factors. @param alike values of attention with its norms, where layers are
 */
function countVaried(config: DecoderConfig, alike: number): number {
  const { family, hiddenSize, numHeads, numLayers, layerInputs, experts } = config;
  if (family.varied === undefined) return 0;
  let sum = (family.varied.scalar === undefined ? 0 : numLayers) + countStreams(config);
  for (let layer = 0; layer < numLayers; layer++) {
    const { numKvHeads, headDim } = atLayer(config, layer);
    // Beside queries.
    const numKinds = numOwnParts(config, layer) - 1;
    const queries = numHeads * headDim;
    const all = countAttention(config, queries, queries + numKinds * numKvHeads * headDim);
    sum += all + (numKinds > 0 ? 2 : 1) * headDim - alike;
  }
  if (family.varied.besideMlp !== undefined && experts !== null) {
    const { intermediateSizes, mlpBias } = config;
    const ofMlps = intermediateSizes.map((width) => mlp(hiddenSize, width, mlpBias));
    // Three norms, the router's scale, and its factors.
    sum += ofMlps.reduce((total, each) => total + each, 0);
    sum += numLayers * (4 * hiddenSize + experts.count);
  }
  if (layerInputs === undefined) return sum;
  const { width, vocabSize } = layerInputs;
  const inLayer = 2 * hiddenSize * width + hiddenSize;
  return sum + numLayers * (width * (vocabSize + hiddenSize) + inLayer) + width;
}

/** Projections of streams, and what their layers have more. */
function countStreams({ streams, hiddenSize, numLayers }: DecoderConfig): number {
  if (streams === undefined) return 0;
  const { count, residualRank, isScaled } = streams;
  const small = count * hiddenSize + count ** 3 + count ** 2;
  // The router's norm, that of what is added to attention's output, and the factors.
  const inLayer = small + (2 + Number(isScaled) + 2 * residualRank) * hiddenSize;
  return 2 * (count - 1) * hiddenSize ** 2 + numLayers * inLayer;
}

function countLatent(
  { hiddenSize, numHeads, headDim, queryKeyValueBias, attentionOutputBias }: DecoderConfig,
  { queryRank, keyValueRank, rotaryDim, stillDim, valueDim }: LatentAttention,
): number {
  const queries = numHeads * headDim;
  const ofQueries = queryRank === null ? 0 : queryRank * (1 + queries);
  const input = (queryRank ?? queries) + keyValueRank + rotaryDim;
  const expanded = keyValueRank * (1 + numHeads * (stillDim + valueDim));
  const output = (numHeads * valueDim + Number(attentionOutputBias)) * hiddenSize;
  return (hiddenSize + Number(queryKeyValueBias)) * input + ofQueries + expanded + output;
}

/** Those of what a layer has in place of attention, linear layers before and after it included. */
function countRecurrent(recurrence: RecurrentConfig, hidden: number): number {
  const { kernel, channels } = recurrence;
  if (recurrence.kind === 'short convolution') {
    const added = Number(recurrence.bias);
    return (hidden + added) * 4 * hidden + (kernel + added) * channels;
  }
  if (recurrence.kind === 'selective scan') {
    const { numHeads, headDim, bias, outputBias, convolutionBias } = recurrence;
    const width = numHeads * headDim;
    const input = (hidden + Number(bias)) * (width + channels + numHeads);
    const linear = input + (width + Number(outputBias)) * hidden;
    const norm = recurrence.norm === 'none' ? 0 : width;
    return linear + (kernel + Number(convolutionBias)) * channels + 3 * numHeads + norm;
  }
  const { numHeads, keyDim, valueDim, narrowWidth } = recurrence;
  const width = numHeads * valueDim;
  const rest = kernel * channels + numHeads + valueDim;
  const read = channels + width + numHeads;
  if (narrowWidth === null) return hidden * (read + width + numHeads) + rest + numHeads;
  const decays = numHeads * keyDim;
  return hidden * (read + 2 * narrowWidth) + narrowWidth * (width + decays) + decays + rest;
}

function mlp(hidden: number, intermediate: number, bias: boolean, isGated = true): number {
  const added = Number(bias);
  return (hidden + added) * (isGated ? 2 : 1) * intermediate + (intermediate + added) * hidden;
}

function countExperts(
  experts: ExpertConfig,
  hiddenSize: number,
  { tensors, gatesMlp }: Family,
): number {
  const hasShare = (tensors.layer.experts?.shared?.share ?? null) !== null;
  const { count, intermediateSize, sharedSize, bias } = experts;
  const shared =
    sharedSize === null
      ? 0
      : Number(hasShare) * hiddenSize + mlp(hiddenSize, sharedSize, bias, gatesMlp);
  const each = mlp(hiddenSize, intermediateSize, bias, gatesMlp);
  return count * (hiddenSize + Number(bias) + each) + shared;
}
