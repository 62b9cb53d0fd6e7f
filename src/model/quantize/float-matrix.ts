import { elementTypeInfo } from '../../onnx/data-type.ts';
import type { GraphBuilder } from '../../onnx/graph-builder.ts';
import type { GraphNodes } from '../../onnx/graph-nodes.ts';
import { areFinite } from '../huggingface/finite.ts';
import { ModelError } from '../model-error.ts';
import { float32ToFloat16 } from '../huggingface/float-conversion.ts';
import type { FloatFormat, FloatType } from './weight-format.ts';

/** float32 values as the data of an initializer of that type. */
export function floatData(type: FloatType, values: Float32Array): Float32Array | Uint16Array {
  return type === 'float' ? values : float32ToFloat16(values);
}

/**
 * Weights as the data of an initializer.
 * @throws {ModelError} if one is too large for the type, naming the initializer
 */
export function weightData(
  type: FloatType,
  values: Float32Array,
  name: string,
): Float32Array | Uint16Array {
  const data = floatData(type, values);
  if (data instanceof Uint16Array) requireHalves(data, values, name);
  return data;
}

/** @throws {ModelError} if a value has become infinite as float16, naming the initializer */
export function requireHalves(halves: Uint16Array, values: Float32Array, name: string): void {
  if (areFinite(halves, 'F16')) return;
  const index = halves.findIndex((half) => (half & 0x7c00) === 0x7c00);
  throw new ModelError(
    `"${name}" has ${values[index]}, which is too large for float16: use --precision fp32`,
  );
}

/** Adds a float tensor; `load` gives its values as float32, or as float16 that is checked already. */
export function floatInitializer(
  graph: GraphBuilder,
  name: string,
  shape: readonly number[],
  type: FloatType,
  load: () => Promise<Float32Array | Uint16Array>,
): string {
  return graph.initializer(name, type, shape, async () => {
    const values = await load();
    return values instanceof Uint16Array ? values : weightData(type, values, name);
  });
}

/** Adds a tensor [1] of that value. */
export function scalar(graph: GraphBuilder, name: string, type: FloatType, value: number): string {
  return graph.initializer(name, type, [1], floatData(type, Float32Array.of(value)));
}

/** Adds a cast. */
export function cast(
  graph: GraphNodes,
  output: string,
  value: string,
  type: FloatType | 'int32' | 'int64',
): string {
  const to = BigInt(elementTypeInfo(type).dataType);
  return graph.node(output, 'Cast', [value], { attributes: { to } });
}

/**
 * A stored value as what activations are: itself, or a cast of it, which a session does once when it
 * is loaded.
 */
export function castToActivations(
  graph: GraphBuilder,
  value: string,
  { type, activations }: FloatFormat,
): string {
  return type === activations ? value : cast(graph, `${value}/Cast`, value, activations);
}
