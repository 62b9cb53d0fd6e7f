import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import { floatData } from '../quantize/float-matrix.ts';
import { attends } from './layer-kinds.ts';
import { rotaryTables, type RopeShape } from './rope.ts';
import type { FloatType } from '../quantize/weight-format.ts';

/**
 * The prefix of the tables' names: none for the model's own frequencies, `local_` for layers with a
 * sliding window that have others, `still_` for layers without rotary embedding in attention, `turning_`
 * for what is rotated before it, without the scale.
 */
type TableKind = '' | 'local_' | 'still_' | 'turning_';

/** Names of the tables that `rotateHeads` takes. */
export const TURNING_TABLES = ['turning_cos_cache', 'turning_sin_cache'] as const;

/** Adds the tables that `rotaryTableNames` names for layers that attend, [max_position_embeddings, head_dim / 2] each. */
export function declareRotaryTables(
  graph: GraphBuilder,
  config: DecoderConfig,
  type: FloatType,
): void {
  const { maxPositionEmbeddings, numLayers } = config;
  const layers = Array.from({ length: numLayers }, (_, layer) => layer);
  const attending = layers.filter((layer) => attends(config, layer));
  const kinds = new Set(attending.map((layer) => tableKind(config, layer)));
  if (isRotatedBefore(config)) kinds.add('turning_');
  for (const kind of kinds) {
    const shape = shapeOf(kind, config);
    const { cos, sin } = rotaryTables(shape, maxPositionEmbeddings);
    const dims = [maxPositionEmbeddings, shape.headDim / 2];
    graph.initializer(`${kind}cos_cache`, type, dims, floatData(type, cos));
    graph.initializer(`${kind}sin_cache`, type, dims, floatData(type, sin));
  }
}

/** Names of the tables that a layer rotates queries and keys by. */
export function rotaryTableNames(
  config: DecoderConfig,
  layer: number,
): readonly [cos: string, sin: string] {
  const kind = tableKind(config, layer);
  return [`${kind}cos_cache`, `${kind}sin_cache`];
}

function isRotatedBefore({ family, takesImagePositions }: DecoderConfig): boolean {
  return takesImagePositions === true || family.tensors.layer.headNorms?.isAfterRope === true;
}

function tableKind(config: DecoderConfig, layer: number): TableKind {
  const { rotatedLayers, localRopeTheta, slidingWindows } = config;
  if (rotatedLayers[layer] === false || isRotatedBefore(config)) return 'still_';
  return localRopeTheta !== null && slidingWindows[layer] !== null ? 'local_' : '';
}

function shapeOf(kind: TableKind, config: DecoderConfig): RopeShape {
  const { wholeHeads } = config;
  if (kind === '') {
    return wholeHeads === undefined
      ? config
      : { ...config, headDim: wholeHeads.headDim, rotaryDim: wholeHeads.headDim };
  }
  if (kind === 'turning_') return { ...config, attentionScale: 1 };
  const unscaled: RopeShape = { ...config, ropeScaling: { type: 'default' } };
  if (kind === 'still_') return { ...unscaled, rotaryDim: 0 };
  return { ...unscaled, ropeTheta: config.localRopeTheta ?? config.ropeTheta };
}
