import { contributions, largest } from '../math/contributions.ts';
import { refitColumns, selectColumns, selectRows } from '../math/refit.ts';
import { biasName } from '../folder/model-tensors.ts';
import { changeLayers, type LayerByLayer } from './layer-by-layer.ts';
import { prunedWidths, widthField, widthValue } from './mlp-widths.ts';
import type { PruneMlp, StepContext } from './step.ts';

const GRAM = { linear: 'mlp.down', kind: 'gram' } as const;

/**
 * Removes channels of each MLP, those that add least to what it gives over the calibration texts; what
 * stays of the down projection is fitted to what all of it gave. As many in every layer, or more where
 * that costs less.
 */
export async function pruneMlp(context: StepContext, step: PruneMlp): Promise<void> {
  const { json, config } = context.source;
  const { intermediateSizes, hiddenSize } = config;
  const widths = await prunedWidths(context, step);
  const change: LayerByLayer['change'] = async (weights, statistics) => {
    const { layer, names } = weights;
    const { gateUp, down } = names;
    const width = intermediateSizes[layer] ?? 0;
    const matrix = await weights.get(`${down}.weight`);
    const gram = statistics.of(GRAM);
    const kept = largest(contributions(matrix, gram, 1), widths[layer] ?? 0);
    const floats = new Map<string, Float32Array>();
    floats.set(
      `${down}.weight`,
      step.refit ? refitColumns(matrix, gram, kept) : selectColumns(matrix, width, kept),
    );
    // Gate and up may be one tensor, the gate first.
    const isFused = gateUp.length === 1;
    const rows = isFused ? [...kept, ...kept.map((row) => row + width)] : kept;
    for (const tensor of gateUp) {
      const name = `${tensor}.weight`;
      floats.set(name, selectRows(await weights.get(name), hiddenSize, rows));
      const bias = biasName(name);
      if (weights.has(bias)) floats.set(bias, selectRows(await weights.get(bias), 1, rows));
    }
    return { floats };
  };
  const field = widthField(json);
  const [before, after] = [widthValue(intermediateSizes), widthValue(widths)];
  await changeLayers(context, {
    json: { ...json, [field]: after },
    facts: { [field]: [before, after] },
    watched: [GRAM],
    change,
  });
}
