import type { ServedModel } from './context.ts';
import { modelNotFound } from './errors.ts';

/**
 * Accepts the served model's name, and its absence.
 * @throws ApiError 404 for another name.
 */
export function requireServedModel(model: ServedModel, requested: string | null | undefined): void {
  if (requested === undefined || requested === null || requested === model.id) return;
  throw modelNotFound(requested.slice(0, 200));
}
