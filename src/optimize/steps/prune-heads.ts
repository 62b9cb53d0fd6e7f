import { contributions, largest } from '../math/contributions.ts';
import { refitColumns, selectColumns, selectRows } from '../math/refit.ts';
import { biasName } from '../folder/model-tensors.ts';
import { changeLayers, type LayerByLayer } from './layer-by-layer.ts';
import { percent, type PruneHeads, type StepContext, StepError } from './step.ts';

const GRAM = { linear: 'attention.output', kind: 'gram' } as const;

/**
 * Removes heads of each layer's attention, those that add least to what it gives over the calibration
 * texts; what stays of the output projection is fitted to what all of it gave. As many in every layer,
 * and as many query heads for each key and value head: that is what config.json can say.
 */
export async function pruneHeads(
  context: StepContext,
  { share, of, refit }: PruneHeads,
): Promise<void> {
  const { json, config } = context.source;
  const { numHeads, numKvHeads, headDim, hiddenSize, family } = config;
  if (family.tensors.layer.headNorms?.over === 'all heads') {
    throw new StepError(
      `${family.modelType} normalizes all heads together, so removing some would change the others`,
    );
  }
  const perGroup = numHeads / numKvHeads;
  const numGroups = of === 'groups' ? remaining(numKvHeads, share, 'groups of heads') : numKvHeads;
  const numInGroup =
    of === 'queries' ? remaining(perGroup, share, 'query heads of a group') : perGroup;
  const heads = (kept: readonly number[]) =>
    kept.flatMap((head) => Array.from({ length: headDim }, (_, i) => head * headDim + i));

  const change: LayerByLayer['change'] = async (weights, statistics) => {
    const { queryKeyValue, attentionOutput } = weights.names;
    const name = `${attentionOutput}.weight`;
    const matrix = await weights.get(name);
    const gram = statistics.of(GRAM);
    const groups = largest(contributions(matrix, gram, perGroup * headDim), numGroups);
    const scores = contributions(matrix, gram, headDim);
    const queries = groups.flatMap((group) => {
      const first = group * perGroup;
      const best = largest(scores.subarray(first, first + perGroup), numInGroup);
      return best.map((head) => first + head);
    });
    const floats = new Map<string, Float32Array>();
    const columns = heads(queries);
    floats.set(
      name,
      refit
        ? refitColumns(matrix, gram, columns)
        : selectColumns(matrix, numHeads * headDim, columns),
    );
    const kept = [heads(queries), heads(groups), heads(groups)];
    // Queries, keys and values may be one tensor, in this order.
    const starts = [0, numHeads * headDim, (numHeads + numKvHeads) * headDim];
    const isFused = queryKeyValue.length === 1;
    const fused = kept.flatMap((rows, i) => rows.map((row) => row + (starts[i] ?? 0)));
    for (const [i, tensor] of queryKeyValue.entries()) {
      const rows = isFused ? fused : (kept[i] ?? []);
      const weight = `${tensor}.weight`;
      floats.set(weight, selectRows(await weights.get(weight), hiddenSize, rows));
      const bias = biasName(weight);
      if (weights.has(bias)) floats.set(bias, selectRows(await weights.get(bias), 1, rows));
    }
    return { floats };
  };
  await changeLayers(context, {
    json: {
      ...json,
      num_attention_heads: numGroups * numInGroup,
      num_key_value_heads: numGroups,
      head_dim: headDim,
    },
    facts: {
      num_attention_heads: [numHeads, numGroups * numInGroup],
      num_key_value_heads: [numKvHeads, numGroups],
    },
    watched: [GRAM],
    change,
  });
}

/** @throws {StepError} if nothing or all would be pruned */
function remaining(count: number, share: number, what: string): number {
  const kept = count - Math.round(count * share);
  if (kept > 0 && kept < count) return kept;
  throw new StepError(
    `${percent(share)} of ${count} ${what} is ${count - kept}: ` +
      'some must be removed and some kept',
  );
}
