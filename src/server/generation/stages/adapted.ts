import { type Stage, withPrompts } from './stage.ts';

/** Has the weights of the adapter that was picked added to the model's. */
export const adapted: Stage = (generation, next) => {
  const { request, adapter } = generation;
  if (adapter === null) return next(generation);
  return next({ ...generation, request: withPrompts(request, { adapter }) });
};
