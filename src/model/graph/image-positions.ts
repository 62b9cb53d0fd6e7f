/** Models whose tokens have three positions: of frames, rows and columns of images (M-RoPE). */
import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import { TURNING_TABLES } from './rotary-tables.ts';

/**
 * Input of graphs that take them: int64 [3, tokens], in the order that `logits_index` numbers tokens.
 * Other graphs of these models count positions themselves: with text alone all three are equal.
 */
export const IMAGE_POSITIONS = 'image_positions';

/** Frames, rows and columns. */
export const NUM_AXES = 3;

/** Adds the input, and the angles of each token: two tables [tokens, head_dim / 2]. */
export function anglesOfImages(
  graph: GraphBuilder,
  { mropeAxes = [] }: DecoderConfig,
): readonly [cos: string, sin: string] {
  const positions = graph.input(IMAGE_POSITIONS, 'int64', [NUM_AXES, 'tokens']);
  const axes = Array.from({ length: NUM_AXES }, (_, axis) => axis);
  const kept = axes.flatMap((axis) => mropeAxes.map((own) => Number(own === axis)));
  const dims = [NUM_AXES, 1, mropeAxes.length];
  const mask = graph.initializer('rotation/axes', 'float', dims, Float32Array.from(kept));
  const first = graph.initializer('rotation/first', 'int64', [1], BigInt64Array.of(0n));
  const ofTokens = (table: string): string => {
    const all = graph.node(`${table}/All`, 'Gather', [table, positions]);
    const own = graph.node(`${table}/Own`, 'Mul', [all, mask]);
    return graph.node(`${table}/Tokens`, 'ReduceSum', [own, first], {
      attributes: { keepdims: 0n },
    });
  };
  const [cos, sin] = TURNING_TABLES;
  return [ofTokens(cos), ofTokens(sin)];
}
