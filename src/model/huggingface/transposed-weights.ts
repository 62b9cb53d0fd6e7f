import { transposeInto } from './transpose.ts';
import type { WeightSource } from './weights.ts';

/** A checkpoint that has the matrices of its layers as [in, out]: as [out, in]. */
export function transposedWeights(stored: WeightSource, layerPrefix: string): WeightSource {
  return {
    async get(name, shape) {
      const [rows, columns] = shape;
      const isMatrix = name.startsWith(`${layerPrefix}.`) && name.endsWith('.weight');
      if (!isMatrix || rows === undefined || columns === undefined) return stored.get(name, shape);
      const transposed = await stored.get(name, [columns, rows]);
      const values = new Float32Array(transposed.length);
      transposeInto(transposed, columns, rows, values, columns, 0);
      return values;
    },
    typeOf: (name) => stored.typeOf?.(name) ?? null,
    close: () => stored.close(),
  };
}
