import type { GraphBuilder } from '../onnx/graph-builder.ts';
import { float32ToFloat16 } from './float-conversion.ts';
import type { FloatFormat } from './weight-format.ts';

/** ONNX's number for float32, as the Cast operator takes it. */
const TO_FLOAT = 1n;

/** Adds a matrix in a float format; `load` gives its values as float32. */
export function floatInitializer(
  graph: GraphBuilder,
  name: string,
  shape: readonly number[],
  { type }: FloatFormat,
  load: () => Promise<Float32Array>,
): string {
  return graph.initializer(name, type, shape, async () => {
    const values = await load();
    return type === 'float' ? values : float32ToFloat16(values);
  });
}

/** The value as float32: itself, or a cast of it, which a session does once when it is loaded. */
export function castToFloat(graph: GraphBuilder, value: string, { type }: FloatFormat): string {
  return type === 'float'
    ? value
    : graph.node(`${value}/Cast`, 'Cast', [value], { attributes: { to: TO_FLOAT } });
}
