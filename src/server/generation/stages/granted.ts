import { grantTo } from '../../../front/generation/client-grant.ts';
import type { ServerContext } from '../../context.ts';
import { grantedClass } from '../../tiers/service-tiers.ts';
import type { Stage } from './stage.ts';

/**
 * Sets what a request may not choose itself: its service class, beyond what its client may have, and what
 * depends on that and on its client; and the seed that it leaves to the server, if its answer can move.
 * @throws ApiError 400 for a service class that there is not
 */
export function granted({ tiers, config }: Pick<ServerContext, 'tiers' | 'config'>): Stage {
  return (generation, next) => {
    const { request, caller } = generation;
    const { client, record, answer } = caller;
    const prompts = request.prompts.map((prompt) => {
      const serviceClass = grantedClass(tiers, caller, prompt.serviceTier);
      const timeoutMs = shorter(prompt.timeoutMs ?? null, serviceClass.deadlineMs);
      const sampling =
        answer && !prompt.hasSeed ? { ...prompt.sampling, seed: answer.seed } : prompt.sampling;
      const grant = grantTo(client, prompt, config, serviceClass);
      return { ...prompt, ...grant, sampling, timeoutMs, record };
    });
    return next({ ...generation, request: { ...request, prompts } });
  };
}

function shorter(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}
