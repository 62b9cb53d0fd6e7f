import { inIntervals } from '../../../front/generation/in-intervals.ts';
import type { Stage } from './stage.ts';

/** Tells tokens in larger pieces, where a client asks for that. */
export const paced: Stage = async (generation, next) => {
  const deltas = await next(generation);
  const { streamInterval = 1 } = generation.asked;
  return streamInterval > 1 ? inIntervals(deltas, streamInterval) : deltas;
};
