import type { TextRuntime } from '../../runtimes.ts';
import { compiled } from '../structured-outputs.ts';
import { type Stage, withPrompts } from './stage.ts';

/** Compiles the grammar of the output, if there is one. @throws as `compiled` */
export function constrained(needs: Pick<TextRuntime, 'grammars'>): Stage {
  return async (generation, next) => {
    const { request, caller } = generation;
    if (!request.grammar) return next(generation);
    const grammar = await compiled(needs, request.grammar, caller);
    return next({ ...generation, request: withPrompts(request, { grammar }) });
  };
}
