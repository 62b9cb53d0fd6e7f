import { tokenMatrices } from '../graph/layer-matrices.ts';
import { matrixOf } from '../graph/linear.ts';
import { mlpLayers } from '../graph/mlp-layers.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import { layerTensorNames } from '../families/family.ts';
import type { WeightSource } from '../huggingface/weights.ts';
import type { MatrixSource } from '../huggingface/matrix-source.ts';
import { largestOfColumns, smoothFactors } from '../quantize/smooth-factors.ts';
import { smoothedWeights, type TensorFactor } from './smoothed-weights.ts';

/**
 * Factors that even out what the linear layers of one layer read, and leave what the layer computes as it
 * is: what comes before is divided by what the columns are multiplied by. Before are the norms, before the
 * attention's output the values' rows, and before an MLP's last matrix the rows of `up`, which are
 * multiplied with what the gates give. Where nothing comes before that could be divided, channels stay.
 * @param config of a model whose MLPs have gates, and whose norms have no bias
 * @param reachesOf how large each channel gets that a linear layer reads, by its name
 */
export async function smoothLayer(
  config: DecoderConfig,
  weights: WeightSource,
  layer: number,
  reachesOf: (linear: string) => Float32Array,
): Promise<Map<string, TensorFactor>> {
  const factors = new Map<string, TensorFactor>();
  const { family } = config;
  const names = layerTensorNames(family, layer);
  const [qkv, output] = tokenMatrices(config, layer);
  const { first, down } = mlpLayers(config, layer);
  if (qkv === undefined || output === undefined) throw new TypeError('a layer has attention');
  const add = (name: string, factor: TensorFactor) =>
    factors.set(name, { ...factors.get(name), ...factor });
  const scaleColumns = ({ tensors }: MatrixSource, columns: Float32Array) => {
    for (const { name } of tensors) add(name, { columns });
  };

  const ofValues = await factorsOfValues(config, weights, output, reachesOf(output.name));
  scaleColumns(output, ofValues.columns);
  divideLastRows(add, qkv, ofValues.rows);

  const largestOfDown = await largestOfColumns(weights, matrixOf(down));
  const ofDown = smoothFactors(reachesOf(down.name), largestOfDown);
  scaleColumns(matrixOf(down), ofDown);
  divideLastRows(add, matrixOf(first), ofDown);

  const offset = family.normsAddOne ? 1 : 0;
  for (const [norm, source] of [
    [names.attentionNorm, qkv],
    [names.mlpNorm, matrixOf(first)],
  ] as const) {
    if (norm === null) continue;
    const largest = await largestOfColumns(smoothedWeights(weights, factors), source);
    const columns = smoothFactors(reachesOf(source.name), largest);
    scaleColumns(source, columns);
    add(`${norm}.weight`, { rows: inverse(columns), offset });
  }
  return factors;
}

/** Factors of the attention's output: all heads that read the same values have the same factors. */
async function factorsOfValues(
  { numHeads, numKvHeads, headDim }: DecoderConfig,
  weights: WeightSource,
  output: MatrixSource,
  reaches: Float32Array,
): Promise<{ readonly rows: Float32Array; readonly columns: Float32Array }> {
  const perHead = numHeads / numKvHeads;
  const valueOf = (channel: number) =>
    Math.floor(channel / headDim / perHead) * headDim + (channel % headDim);
  const shared = (ofChannels: Float32Array) => {
    const largest = new Float32Array(numKvHeads * headDim);
    for (const [channel, size] of ofChannels.entries()) {
      const value = valueOf(channel);
      largest[value] = Math.max(largest[value] ?? 0, size);
    }
    return largest;
  };
  const rows = smoothFactors(shared(reaches), shared(await largestOfColumns(weights, output)));
  return { rows, columns: reaches.map((_, channel) => rows[valueOf(channel)] ?? 1) };
}

/** Divides the last rows of matrices that lie one below the other, and of their biases. */
function divideLastRows(
  add: (name: string, factor: TensorFactor) => void,
  { tensors }: MatrixSource,
  by: Float32Array,
): void {
  const last = tensors.at(-1);
  if (last === undefined) return;
  const rows = new Float32Array(last.rows).fill(1);
  rows.set(inverse(by), last.rows - by.length);
  add(last.name, { rows });
  add(last.name.replace(/\.weight$/, '.bias'), { rows });
}

function inverse(factors: Float32Array): Float32Array {
  return factors.map((factor) => 1 / factor);
}
