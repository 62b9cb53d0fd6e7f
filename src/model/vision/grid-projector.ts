/** From patches of Pixtral's tower to tokens of a text model. */
import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import type { EncoderNodes } from '../encoder/encoder-nodes.ts';
import { emitActivation } from '../graph/activation.ts';
import { emitRmsNorm } from '../graph/rms-norm.ts';
import type { GridProjector, GridShape } from './grid-shape.ts';
import { PROJECTOR } from './tensor-names.ts';

/** Graph that a projector becomes a part of. */
export interface ProjectorGraph {
  readonly graph: GraphBuilder;
  readonly nodes: EncoderNodes;
  readonly shape: GridShape;
}

/**
 * Makes rows of the text model's width of cells, in float32 whatever the tower's precision.
 * @param sum of patches [cells * patches, channels], cell by cell
 */
export function emitProjector(
  { graph, nodes, shape }: ProjectorGraph,
  { mergerEps, activation, bias }: GridProjector,
  sum: string,
): string {
  const { tower, merge, textSize } = shape;
  const { hiddenSize } = tower;
  const linear = (value: string, tensor: string, sizes: readonly [number, number], own = bias) =>
    nodes.floatLinear(
      { value, rowsLike: '' },
      {
        name: tensor,
        inFeatures: sizes[0],
        parts: [{ tensor, outFeatures: sizes[1] }],
        bias: own,
      },
    );
  const merged = (epsilon: number): string => {
    const weight = nodes.tensor(`${PROJECTOR}.norm.weight`, [hiddenSize]);
    const normed = emitRmsNorm(graph, `${PROJECTOR}.norm`, sum, weight, epsilon);
    const beside = hiddenSize * merge ** 2;
    const to = graph.initializer(
      'cells/shape',
      'int64',
      [2],
      BigInt64Array.of(-1n, BigInt(beside)),
    );
    const cells = graph.node('cells', 'Reshape', [normed, to]);
    return linear(cells, MERGING_LAYER, [beside, hiddenSize], false);
  };
  const cells = mergerEps === null ? sum : merged(mergerEps);
  const wide = linear(cells, `${PROJECTOR}.linear_1`, [hiddenSize, textSize]);
  const active = emitActivation(graph, wide, activation);
  return linear(active, `${PROJECTOR}.linear_2`, [textSize, textSize]);
}

/** Layer that makes one row of a cell's patches, whose channels lie side by side. */
export const MERGING_LAYER = `${PROJECTOR}.patch_merger.merging_layer`;
