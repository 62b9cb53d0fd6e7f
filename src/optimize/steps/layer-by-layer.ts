import { parseDecoderConfig } from '../../model/huggingface/config.ts';
import { Statistics } from '../calibration/layerwise-decoder.ts';
import type { Statistic } from '../calibration/text-graphs.ts';
import { openLayer } from '../folder/checkpoint.ts';
import { layerTensors } from '../folder/model-tensors.ts';
import {
  type DeferredTensor,
  storedFloats,
  type StoredTensor,
} from '../folder/safetensors-file.ts';
import { copyOf } from '../folder/step-folder.ts';
import { LayerWeights } from './layer-weights.ts';
import type { StepContext } from './step.ts';

/** Changed tensors of a layer. The others stay as they are. */
export interface LayerChange {
  /** By name of the tensor. */
  readonly floats?: ReadonlyMap<string, Float32Array>;
  /** By name of the tensor: what is stored in its place. */
  readonly stored?: ReadonlyMap<string, ReadonlyMap<string, StoredTensor>>;
}

export interface LayerByLayer {
  /** config.json afterwards. */
  readonly json: Readonly<Record<string, unknown>>;
  /** Decisions of the step, for optimization.json. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** Statistics of a layer's inputs that it needs; nothing is computed if it needs none. */
  readonly watched: readonly Statistic[];
  readonly change: (weights: LayerWeights, statistics: Statistics) => Promise<LayerChange>;
}

/**
 * Changes a model layer by layer. Each layer is calibrated with what the changed layers before it give,
 * and is in memory alone.
 */
export async function changeLayers(
  { source, texts, folder, decoder, onProgress }: StepContext,
  { json, facts, watched, change }: LayerByLayer,
): Promise<void> {
  const config = parseDecoderConfig(json, 'the configuration');
  const before = decoder(source);
  const isCalibrated = watched.length > 0;
  let hidden = isCalibrated ? await before.embed(texts) : [];
  for (let layer = 0; layer < config.numLayers; layer++) {
    onProgress(layer, config.numLayers);
    if (!(await folder.hasLayer(layer))) {
      const { statistics } = isCalibrated
        ? await before.layer(layer, hidden, watched)
        : { statistics: new Statistics() };
      const weights = new LayerWeights(source, layer);
      const changed = await change(weights, statistics);
      const tensors = layerTensors(config, layer).flatMap(({ name, shape }) =>
        tensorsOf(changed, name, shape, source.dtypeOf(name), () => copyOf(source, name, shape)),
      );
      await folder.writeLayer(layer, tensors);
    }
    if (!isCalibrated || layer === config.numLayers - 1) continue;
    const weights = await openLayer(folder.layerPath(layer), config);
    try {
      ({ hidden } = await decoder({ config, weights }).layer(layer, hidden));
    } finally {
      await weights.close();
    }
  }
  onProgress(config.numLayers, config.numLayers);
  await folder.finish(source, { json, config, facts });
}

function tensorsOf(
  { floats, stored }: LayerChange,
  name: string,
  shape: readonly number[],
  dtype: ReturnType<StepContext['source']['dtypeOf']>,
  copy: () => DeferredTensor,
): DeferredTensor[] {
  const parts = stored?.get(name);
  if (parts !== undefined) return Array.from(parts, ([part, tensor]) => deferred(part, tensor));
  const values = floats?.get(name);
  return [values === undefined ? copy() : deferred(name, storedFloats(dtype, shape, values))];
}

function deferred(name: string, { bytes, ...rest }: StoredTensor): DeferredTensor {
  return { name, ...rest, load: async () => bytes };
}
