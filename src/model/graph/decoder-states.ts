import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import type { DecoderConfig } from '../huggingface/config.ts';
import { ModelError } from '../model-error.ts';
import type { DecoderState } from '../manifest.ts';
import type { FloatType } from '../quantize/weight-format.ts';
import { STATE_INPUTS, statePoolName } from './state-names.ts';
import type { GroupPrefix } from './token-packing.ts';

/** Rows of a state's pool, as the graph calls their number. */
const ROWS = 'state_rows';

/** The states of a decoder's layers, in the order of their inputs and outputs; none where all attend. */
export function decoderStates({ recurrence }: DecoderConfig): DecoderState[] {
  if (recurrence === undefined) return [];
  const { kernel, channels, matrixSize } = recurrence;
  return recurrence.layers.flatMap((isRecurrent, layer) => {
    if (!isRecurrent) return [];
    // A convolution reads so many tokens before its own.
    const tokens = { name: stateName(layer, 'convolution'), width: channels * (kernel - 1) };
    const matrices = { name: stateName(layer, 'recurrence'), width: matrixSize };
    return matrixSize === 0 ? [tokens] : [tokens, matrices];
  });
}

/** Name of a layer's state in the manifest. */
export function stateName(layer: number, kind: 'convolution' | 'recurrence'): string {
  return `layers.${layer}.${kind}`;
}

/** Values of all states of a text, float32 each. */
export function stateSize(config: DecoderConfig): number {
  return decoderStates(config).reduce((sum, { width }) => sum + width, 0);
}

/**
 * Adds the inputs of recurrent layers, if there are any: for each group which rows of the pools are its
 * sequences', and the pools.
 * @throws {ModelError} in a graph that the operators of native/ do not fit into
 */
export function declareStateInputs(
  graph: GraphBuilder,
  config: DecoderConfig,
  type: FloatType,
  groups: readonly GroupPrefix[],
): void {
  const states = decoderStates(config);
  if (states.length === 0) return;
  if (groups.length === 0 || type !== 'float') {
    throw new ModelError(
      `${config.family.modelType} is computed in float32 and over slots alone: its layers have states`,
    );
  }
  for (const group of groups) {
    for (const name of STATE_INPUTS) graph.input(`${group}${name}`, 'int32', [`${group}batch`]);
  }
  for (const { name, width } of states) {
    graph.input(statePoolName('past_states', name), 'float', [ROWS, width]);
  }
}

/** Adds the outputs: the pools with what was written to them. */
export function declareStateOutputs(graph: GraphBuilder, config: DecoderConfig): void {
  for (const { name, width } of decoderStates(config)) {
    graph.output(statePoolName('present_states', name), 'float', [ROWS, width]);
  }
}

/** Names of what an operator with a state reads of each group: the shape of its tokens, and its rows. */
export function stateInputs(groups: readonly GroupPrefix[]): string[] {
  return groups.flatMap((group) => ['input_ids', ...STATE_INPUTS].map((name) => `${group}${name}`));
}
