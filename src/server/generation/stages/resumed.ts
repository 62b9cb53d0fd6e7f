import { isSearch } from '../../../front/generation/generation.ts';
import { watchStream } from '../../../front/generation/map-stream.ts';
import type { TextRuntime } from '../../runtimes.ts';
import type { Stage } from './stage.ts';

/**
 * Goes on where an answer was left that began on another server, and keeps account of this one, so that
 * another server can do the same.
 */
export function resumed({ contentId }: Pick<TextRuntime, 'contentId'>): Stage {
  return async (generation, next) => {
    const { asked, request, model, adapter } = generation;
    const { answer } = generation.caller;
    // A search has no part of its texts before its end: on another server it begins anew.
    if (answer === undefined || asked.prompts.some(isSearch)) return next(generation);
    const choices = answer.start(asked, { ...model, adapter, contentId });
    const deltas = await next({ ...generation, request: { ...request, resumed: choices } });
    return watchStream(deltas, { onValue: (delta) => answer.record(delta), onEnd() {} });
  };
}
