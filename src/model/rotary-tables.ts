import type { GraphBuilder } from '../onnx/graph-builder.ts';
import type { DecoderConfig } from './config.ts';
import { floatData } from './float-matrix.ts';
import { rotaryTables, type RopeShape } from './rope.ts';
import type { FloatType } from './weight-format.ts';

/** Adds the tables that `rotaryTableNames` tells, [max_position_embeddings, head_dim / 2] each. */
export function declareRotaryTables(
  graph: GraphBuilder,
  config: DecoderConfig,
  type: FloatType,
): void {
  const { maxPositionEmbeddings, headDim, localRopeTheta } = config;
  const declare = (prefix: string, shape: RopeShape) => {
    const { cos, sin } = rotaryTables(shape, maxPositionEmbeddings);
    const dims = [maxPositionEmbeddings, headDim / 2];
    graph.initializer(`${prefix}cos_cache`, type, dims, floatData(type, cos));
    graph.initializer(`${prefix}sin_cache`, type, dims, floatData(type, sin));
  };
  declare('', config);
  if (localRopeTheta === null) return;
  declare('local_', { ...config, ropeTheta: localRopeTheta, ropeScaling: { type: 'default' } });
}

/** Of the tables that a layer turns queries and keys by. */
export function rotaryTableNames(
  { localRopeTheta, slidingWindows }: DecoderConfig,
  layer: number,
): readonly [cos: string, sin: string] {
  const isLocal = localRopeTheta !== null && slidingWindows[layer] !== null;
  return isLocal ? ['local_cos_cache', 'local_sin_cache'] : ['cos_cache', 'sin_cache'];
}
