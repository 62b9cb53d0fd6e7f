import type { LinearName, Statistic } from '../calibration/text-graphs.ts';
import type { Statistics } from '../calibration/layerwise-decoder.ts';
import { bytesOf, type StoredTensor, storedFloats } from '../folder/safetensors-file.ts';
import { biasName } from '../folder/model-tensors.ts';
import { Compensation } from '../math/compensation.ts';
import { type IntegerRows, roundRows } from '../math/integer-rows.ts';
import { QuadraticError } from '../math/quadratic-error.ts';
import { changeLayers, type LayerChange } from './layer-by-layer.ts';
import type { LayerMatrix, LayerWeights } from './layer-weights.ts';
import { searchScales } from './scale-search.ts';
import { type Rounding, type StepContext, StepError } from './step.ts';

const LINEARS: readonly LinearName[] = [
  'attention.qkv',
  'attention.output',
  'mlp.gate_up',
  'mlp.down',
];
const PER_WORD = 8;

/**
 * Rounds the layers' matrices to 4 bits with a scale for each block of a row, and stores them as
 * compressed-tensors does (`pack-quantized`, symmetric), which keeps the very integers through a build.
 */
export async function roundWeights(
  context: StepContext,
  { method, blockSize }: Rounding,
  threads: number,
): Promise<void> {
  const { json, config } = context.source;
  requireWords(context);
  const watched: Statistic[] = LINEARS.flatMap((linear) => {
    if (method === 'nearest') return [];
    const gram = { linear, kind: 'gram' } as const;
    return method === 'gptq' ? [gram] : [gram, { linear, kind: 'magnitudes' }];
  });
  const quadratic = new QuadraticError(threads);
  try {
    await changeLayers(context, {
      json: { ...json, quantization_config: quantizationConfig(blockSize) },
      facts: {},
      watched,
      change: async (weights, statistics) => {
        const smoothing = new Map<string, Float32Array>();
        if (method === 'awq') {
          const { normsAddOne } = config.family;
          await smooth(weights, statistics, { blockSize, normsAddOne, quadratic }, smoothing);
        }
        const stored = new Map<string, ReadonlyMap<string, StoredTensor>>();
        for (const linear of LINEARS) {
          const compensation =
            method === 'gptq' ? new Compensation(statistics.of({ linear, kind: 'gram' })) : null;
          for (const matrix of await weights.matrices(linear)) {
            const values = smoothing.get(matrix.name) ?? matrix.weights;
            const rounded = roundRows(values, matrix.columns, blockSize, compensation);
            stored.set(matrix.name, packed(matrix, rounded));
          }
        }
        return { floats: smoothing, stored } satisfies LayerChange;
      },
    });
  } finally {
    quadratic.release();
  }
}

interface Smoothing {
  readonly blockSize: number;
  readonly normsAddOne: boolean;
  readonly quadratic: QuadraticError;
}

/**
 * Smooths a matrix over the tensor before it that can be divided by column: a norm, or the rows of
 * `up`.
 */
async function smooth(
  weights: LayerWeights,
  statistics: Statistics,
  { blockSize, normsAddOne, quadratic }: Smoothing,
  changed: Map<string, Float32Array>,
): Promise<void> {
  const current = async (name: string) => changed.get(name) ?? (await weights.get(name));
  const scalesFor = async (linear: LinearName) => {
    const matrices = await weights.matrices(linear);
    const values = await Promise.all(matrices.map(({ name }) => current(name)));
    const magnitudes = statistics.of({ linear, kind: 'magnitudes' });
    const gram = statistics.of({ linear, kind: 'gram' });
    const scales = searchScales(values, magnitudes, gram, blockSize, quadratic);
    for (const [index, { name, columns }] of matrices.entries()) {
      const scaled = values[index]?.map((value, i) => value * (scales[i % columns] ?? 1));
      if (scaled) changed.set(name, scaled);
    }
    return scales;
  };
  const { attentionNorm, mlpNorm, gateUp } = weights.names;
  const norms = [
    ['attention.qkv', attentionNorm],
    ['mlp.gate_up', mlpNorm],
  ] as const;
  for (const [linear, norm] of norms) {
    if (norm === null) continue;
    const scales = await scalesFor(linear);
    const offset = normsAddOne ? 1 : 0;
    const name = `${norm}.weight`;
    const before = await current(name);
    changed.set(
      name,
      before.map((value, i) => (offset + value) / (scales[i] ?? 1) - offset),
    );
  }
  // The last rows of gate and up, whether they are one tensor or two: what they give is multiplied by
  // what the gates give.
  const up = `${gateUp.at(-1) ?? ''}.weight`;
  const scales = await scalesFor('mlp.down');
  for (const name of [up, biasName(up)]) {
    if (!weights.has(name)) continue;
    const values = await current(name);
    const numRows = gateUp.length === 1 ? 2 * scales.length : scales.length;
    const width = values.length / numRows;
    const first = numRows - scales.length;
    changed.set(
      name,
      values.map((value, i) => value / (scales[Math.floor(i / width) - first] ?? 1)),
    );
  }
}

/** `weight_packed`, `weight_scale` and `weight_shape` in place of a matrix. */
function packed(
  { name, rows, columns }: LayerMatrix,
  { values, scales }: IntegerRows,
): ReadonlyMap<string, StoredTensor> {
  const words = new Int32Array((rows * columns) / PER_WORD);
  for (const [place, value] of values.entries()) {
    const word = Math.floor(place / PER_WORD);
    words[word] = (words[word] ?? 0) | (value << (4 * (place % PER_WORD)));
  }
  const shape = BigInt64Array.of(BigInt(rows), BigInt(columns));
  return new Map<string, StoredTensor>([
    [`${name}_packed`, { dtype: 'I32', shape: [rows, columns / PER_WORD], bytes: bytesOf(words) }],
    [`${name}_scale`, storedFloats('F16', [rows, scales.length / rows], scales)],
    [`${name}_shape`, { dtype: 'I64', shape: [2], bytes: bytesOf(shape) }],
  ]);
}

function quantizationConfig(blockSize: number) {
  return {
    quant_method: 'compressed-tensors',
    format: 'pack-quantized',
    quantization_status: 'compressed',
    config_groups: {
      group_0: {
        targets: ['Linear'],
        weights: {
          num_bits: 4,
          type: 'int',
          symmetric: true,
          strategy: 'group',
          group_size: blockSize,
        },
      },
    },
    ignore: ['lm_head'],
  };
}

function requireWords({ source: { config } }: StepContext): void {
  const widths = [config.hiddenSize, config.numHeads * config.headDim, ...config.intermediateSizes];
  const width = widths.find((each) => each % PER_WORD !== 0);
  if (width === undefined) return;
  throw new StepError(
    `rounding needs rows of multiples of ${PER_WORD} weights, and this model has ${width}`,
  );
}
