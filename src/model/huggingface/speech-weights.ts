import type { WeightSource } from './weights.ts';

const KEY_BIAS = 'k_proj.bias';
const POSITIONS = 'model.decoder.embed_positions.weight';

/**
 * Whisper's weights as the graphs read them: keys have biases of 0, and the decoder's positions come after
 * those that hold the encoder's output, to which nothing is added.
 * @param crossPositions how many these are
 */
export function speechWeights(stored: WeightSource, crossPositions: number): WeightSource {
  return {
    async get(name, shape) {
      const [rows = 0, columns = 0] = shape;
      if (name.endsWith(KEY_BIAS)) return new Float32Array(rows);
      if (name !== POSITIONS) return stored.get(name, shape);
      const written = await stored.get(name, [rows - crossPositions, columns]);
      const all = new Float32Array(rows * columns);
      all.set(written, crossPositions * columns);
      return all;
    },
    typeOf: (name) => stored.typeOf?.(name) ?? null,
    close: () => stored.close(),
  };
}
