import type { DecoderConfig } from '../huggingface/config.ts';
import { changedWeights, piecesOf, type WeightSource } from '../huggingface/weights.ts';
import { smoothedWeights } from '../static/smoothed-weights.ts';

/** Added to lengths, as the models' own code does. */
const EPSILON = 1e-7;

/**
 * A checkpoint whose LM head [vocabulary, hidden] has columns of length 1, of models that divide it by their lengths
 * before they use it. Lengths are computed when the head is read for the first time.
 */
export function withNormalizedHead(config: DecoderConfig, weights: WeightSource): WeightSource {
  if (config.normalizesHead !== true) return weights;
  const head = `${config.family.tensors.lmHead}.weight`;
  let normalized: Promise<WeightSource> | undefined;
  const withHead = (shape: readonly number[]): Promise<WeightSource> => {
    normalized ??= inverseLengths(weights, head, shape).then((columns) =>
      smoothedWeights(weights, new Map([[head, { columns }]])),
    );
    return normalized;
  };
  async function* headPieces(shape: readonly number[]): AsyncGenerator<Float32Array, void> {
    yield* piecesOf(await withHead(shape), head, shape);
  }
  return changedWeights(weights, {
    get: async (name, shape) => (name === head ? await withHead(shape) : weights).get(name, shape),
    pieces: (name, shape) => (name === head ? headPieces(shape) : piecesOf(weights, name, shape)),
    // Integers of the checkpoint are no longer valid after division.
    layout: (name, shape) => (name === head ? null : (weights.layout?.(name, shape) ?? null)),
  });
}

/** One over the length of each column. */
async function inverseLengths(
  weights: WeightSource,
  name: string,
  shape: readonly number[],
): Promise<Float32Array> {
  const [, width = 0] = shape;
  const squares = new Float64Array(width);
  for await (const piece of piecesOf(weights, name, shape)) {
    for (let start = 0; start < piece.length; start += width) {
      for (let column = 0; column < width; column++) {
        squares[column] = (squares[column] ?? 0) + (piece[start + column] ?? 0) ** 2;
      }
    }
  }
  return Float32Array.from(squares, (square) => 1 / (Math.sqrt(square) + EPSILON));
}
