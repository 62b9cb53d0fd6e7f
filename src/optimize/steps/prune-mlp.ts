import { contributions, largest } from '../math/contributions.ts';
import { refitColumns, selectColumns, selectRows } from '../math/refit.ts';
import { biasName } from '../folder/model-tensors.ts';
import { changeLayers, type LayerByLayer } from './layer-by-layer.ts';
import { percent, type PruneMlp, type StepContext, StepError } from './step.ts';

const GRAM = { linear: 'mlp.down', kind: 'gram' } as const;

/** Widths are multiples of this, where they are now: kernels pad rows to it. */
const MOST_ALIGNED = 64;
/** But not so coarse that there are fewer widths than these to choose from, */
const LEAST_WIDTHS = 16;
/** unless the integers of a word would be of two rows. */
const LEAST_ALIGNED = 8;

/**
 * Removes channels of each MLP, those that add least to what it gives over the calibration texts; what
 * stays of the down projection is fitted to what all of it gave. As many in every layer: a width by layer
 * is nothing that a config.json of these models can say, and other programs could not read the folder.
 */
export async function pruneMlp(context: StepContext, { share, refit }: PruneMlp): Promise<void> {
  const { json, config } = context.source;
  const { intermediateSize } = config;
  const width = prunedWidth(intermediateSize, share);
  const change: LayerByLayer['change'] = async (weights, statistics) => {
    const { gateUp, down } = weights.names;
    const matrix = await weights.get(`${down}.weight`);
    const gram = statistics.of(GRAM);
    const kept = largest(contributions(matrix, gram, 1), width);
    const floats = new Map<string, Float32Array>();
    floats.set(
      `${down}.weight`,
      refit ? refitColumns(matrix, gram, kept) : selectColumns(matrix, intermediateSize, kept),
    );
    // Gate and up may be one tensor, the gate first.
    const isFused = gateUp.length === 1;
    const rows = isFused ? [...kept, ...kept.map((row) => row + intermediateSize)] : kept;
    for (const tensor of gateUp) {
      const name = `${tensor}.weight`;
      floats.set(name, selectRows(await weights.get(name), config.hiddenSize, rows));
      const bias = biasName(name);
      if (weights.has(bias)) floats.set(bias, selectRows(await weights.get(bias), 1, rows));
    }
    return { floats };
  };
  const field =
    json['shared_intermediate_size'] === undefined
      ? 'intermediate_size'
      : 'shared_intermediate_size';
  await changeLayers(context, {
    json: { ...json, [field]: width },
    facts: { [field]: [intermediateSize, width] },
    watched: [GRAM],
    change,
  });
}

/** @throws {StepError} if nothing or all would be pruned */
export function prunedWidth(width: number, share: number): number {
  let unit = 1;
  const coarsest = Math.min(MOST_ALIGNED, Math.max(LEAST_ALIGNED, width / LEAST_WIDTHS));
  while (2 * unit <= coarsest && width % (2 * unit) === 0) unit *= 2;
  const kept = unit * Math.round((width * (1 - share)) / unit);
  if (kept > 0 && kept < width) return kept;
  throw new StepError(
    `${percent(share)} of ${width} channels, in steps of ${unit}, is ${width - kept}: ` +
      'an MLP must lose some and keep some',
  );
}
