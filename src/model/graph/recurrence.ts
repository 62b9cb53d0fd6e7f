import type { AttributeValue } from '../../onnx/attributes.ts';
import { NATIVE_DOMAIN } from '../../onnx/graph-builder.ts';
import { floatInitializer } from '../quantize/float-matrix.ts';
import type { DecoderOps } from './decoder-ops.ts';
import { stateInputs, stateName } from './decoder-states.ts';
import { statePoolName } from './state-names.ts';
import type { GroupPrefix } from './token-packing.ts';

/** An operator of native/ whose state is a matrix for each head. */
export interface RecurrenceNode {
  readonly layer: number;
  readonly operator: 'GatedDelta' | 'SelectiveScan';
  /** Names of what it reads before its state. */
  readonly inputs: readonly string[];
  readonly attributes: Readonly<Record<string, AttributeValue>>;
}

/** Adds it; returns the name of what its heads read of their matrices, [tokens, n]. */
export function emitRecurrence(
  { graph }: DecoderOps,
  { layer, operator, inputs, attributes }: RecurrenceNode,
  groups: readonly GroupPrefix[],
): string {
  const state = stateName(layer, 'recurrence');
  const name = `${state}/${operator}`;
  const pool = statePoolName('past_states', state);
  return graph.node(name, operator, [...inputs, pool, ...stateInputs(groups)], {
    domain: NATIVE_DOMAIN,
    outputs: [name, statePoolName('present_states', state)],
    attributes,
  });
}

/** Adds a tensor [size] of a checkpoint as it is. @param name in full */
export function addVector({ graph, weights }: DecoderOps, name: string, size: number): string {
  return floatInitializer(graph, name, [size], 'float', () => weights.get(name, [size]));
}

/**
 * Adds what heads' logarithms of a step's decay are multiplied by.
 * @param name of their logarithms, in full
 * @param shape of these
 */
export function addDecays(
  { graph, weights }: DecoderOps,
  name: string,
  numHeads: number,
  shape: readonly number[] = [numHeads],
): string {
  return floatInitializer(graph, name, [numHeads], 'float', async () => {
    const values = await weights.get(name, shape);
    return values.map((value) => -Math.exp(value));
  });
}

/** Takes a value [tokens, n] apart; returns the names of its parts, side by side in it. */
export function splitColumns(
  { graph }: DecoderOps,
  value: string,
  parts: readonly (readonly [name: string, size: number])[],
): string[] {
  const sizes = BigInt64Array.from(parts, ([, size]) => BigInt(size));
  const outputs = parts.map(([name]) => `${value}/${name}`);
  const by = graph.initializer(`${value}/sizes`, 'int64', [parts.length], sizes);
  graph.node(`${value}/Split`, 'Split', [value, by], { outputs, attributes: { axis: 1n } });
  return outputs;
}
