import type { LinearName } from '../calibration/text-graphs.ts';
import { Compensation } from '../math/compensation.ts';
import { lowest, lowestBlocks, type Scores, twoOfFour } from '../math/masks.ts';
import { changeLayers, type LayerByLayer } from './layer-by-layer.ts';
import type { LayerMatrix } from './layer-weights.ts';
import { type Sparsity, type StepContext, StepError } from './step.ts';

const LINEARS: readonly LinearName[] = [
  'attention.qkv',
  'attention.output',
  'mlp.gate_up',
  'mlp.down',
];

/**
 * Sets weights of the layers' matrices to 0: those of least magnitude in each matrix, or in each row those
 * that are least once multiplied by the norm of what they are multiplied with (Sun et al.: "Wanda", ICLR
 * 2024). With a re-fit, those that stay make up for them, as in SparseGPT.
 */
export async function makeSparse(context: StepContext, step: Sparsity): Promise<void> {
  const { criterion, refit } = step;
  requireFours(context, step);
  const kind = refit ? 'gram' : 'squares';
  const isCalibrated = refit || criterion === 'wanda';
  const change: LayerByLayer['change'] = async (weights, statistics) => {
    const floats = new Map<string, Float32Array>();
    for (const linear of LINEARS) {
      const matrices = await weights.matrices(linear);
      const columns = matrices[0]?.columns ?? 0;
      const sums = isCalibrated ? statistics.of({ linear, kind }) : new Float64Array();
      const norms = normsOf(sums, columns, criterion);
      const compensation = refit ? new Compensation(sums) : null;
      for (const matrix of matrices) {
        const mask = maskOf(matrix, norms, step);
        floats.set(matrix.name, removed(matrix, mask, compensation));
      }
    }
    return { floats };
  };
  await changeLayers(context, {
    json: context.source.json,
    facts: {},
    watched: isCalibrated ? LINEARS.map((linear) => ({ linear, kind })) : [],
    change,
  });
}

/** Norms of the inputs by column; of magnitude alone, 1. @param sums a Gram matrix, or its diagonal */
function normsOf(sums: Float64Array, columns: number, criterion: Sparsity['criterion']) {
  const stride = sums.length === columns ? 1 : columns + 1;
  return Float64Array.from({ length: columns }, (_, column) =>
    criterion === 'magnitude' ? 1 : Math.sqrt(sums[column * stride] ?? 0),
  );
}

function maskOf(
  { weights, rows, columns }: LayerMatrix,
  norms: Float64Array,
  { pattern, criterion, blockSize }: Sparsity,
): Uint8Array {
  const values = weights.map((weight, i) => Math.abs(weight) * (norms[i % columns] ?? 1));
  const find = (scores: Scores) => {
    if (pattern === '2:4') return twoOfFour(scores);
    return lowest(scores, pattern, criterion === 'wanda' ? 1 : rows);
  };
  return lowestBlocks({ values, columns }, blockSize, find);
}

function removed(
  { weights, columns }: LayerMatrix,
  mask: Uint8Array,
  compensation: Compensation | null,
): Float32Array {
  if (compensation === null) return weights.map((weight, i) => (mask[i] ? 0 : weight));
  const result = new Float32Array(weights.length);
  for (let start = 0; start < weights.length; start += columns) {
    const row = new Float64Array(weights.subarray(start, start + columns));
    compensation.apply(row, (column) => (mask[start + column] ? 0 : (row[column] ?? 0)));
    result.set(row, start);
  }
  return result;
}

function requireFours({ source: { config } }: StepContext, { pattern }: Sparsity): void {
  const widths = [config.hiddenSize, config.numHeads * config.headDim, ...config.intermediateSizes];
  const width = widths.find((each) => each % 4 !== 0);
  if (pattern !== '2:4' || width === undefined) return;
  throw new StepError(`2:4 needs rows of multiples of 4 weights, and this model has ${width}`);
}
