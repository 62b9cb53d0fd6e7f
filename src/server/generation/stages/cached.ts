import { ANY_ANSWER } from '../../../front/caller.ts';
import type { AnswerPlan } from '../../../front/response-cache/generation-cache.ts';
import { requireComputable } from '../../../front/not-cached-error.ts';
import type { ServerContext } from '../../context.ts';
import type { TextRuntime } from '../../runtimes.ts';
import type { Generation, Stage } from './stage.ts';

type Needs = Pick<ServerContext, 'answers' | 'usage'> & Pick<TextRuntime, 'buildId'>;

/**
 * Answers with what was computed before, if there is such an answer and it will do.
 * @throws NotCachedError where nothing else will
 */
export function cached(needs: Needs): Stage {
  return async (generation, next) => {
    const { caller, model } = generation;
    const plan = planOf(needs, generation);
    const found = await plan?.find();
    if (!found) {
      requireComputable(caller);
      return next({ ...generation, plan });
    }
    caller.cache?.tell?.({ status: 'hit', ageMs: found.ageMs });
    needs.usage.add(caller.client, model.id, { cachedRequests: 1 });
    return found.deltas;
  };
}

function planOf({ answers, buildId }: Needs, generation: Generation): AnswerPlan | null {
  const { request, adapter } = generation;
  const { client, cache = ANY_ANSWER } = generation.caller;
  // An answer that began elsewhere is not whole, and an adapter's name may come to stand for other weights.
  if ((request.resumed ?? []).length > 0 || adapter !== null) return null;
  const plan = answers?.planOf(request, { buildId, client }, cache) ?? null;
  if (answers !== null && plan === null) cache.tell?.({ status: 'bypass' });
  return plan;
}
