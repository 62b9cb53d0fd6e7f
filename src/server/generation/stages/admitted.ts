import { setImmediate } from 'node:timers/promises';
import { withFirst } from '../../../front/generation/map-stream.ts';
import type { Stage } from './stage.ts';

/**
 * Begins to read, so that a refusal is known while the answer's status can still be chosen: the generator
 * decides on admission before it waits for anything, which is within this turn of the event loop.
 * @throws QueueFullError, ShuttingDownError and what else the generator refuses with
 */
export const admitted: Stage = async (generation, next) => {
  const deltas = await next(generation);
  const first = deltas.next();
  await Promise.race([first, setImmediate()]);
  return withFirst(first, deltas);
};
