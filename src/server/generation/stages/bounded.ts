import { withDeadline } from '../../../front/deadline.ts';
import { type Stage, watchGeneration } from './stage.ts';

/** Ends a generation with its client, at its deadline, and with its request's hold on the model. */
export const bounded: Stage = async (generation, next) => {
  const { caller, ending, started, request } = generation;
  const timeoutMs = request.prompts[0]?.timeoutMs ?? null;
  const signal = withDeadline(AbortSignal.any([caller.signal, ending.signal]), timeoutMs);
  started.add(ending);
  const onEnd = (): void => void started.delete(ending);
  try {
    const deltas = await next({ ...generation, caller: { ...caller, signal }, signal });
    return watchGeneration(deltas, { signal }, { onEnd });
  } catch (error) {
    // Ends the later stages, too.
    ending.abort(error);
    onEnd();
    throw error;
  }
};
