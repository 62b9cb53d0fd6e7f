import type { FanOutRequest } from '../../../front/generation/fan-out.ts';
import { spentTokens } from '../../../front/generation/generation.ts';
import type { ServerContext } from '../../context.ts';
import { countPromptTokens, type Stage, watchGeneration } from './stage.ts';

/**
 * Charges a client for the most that its request may come to, gives back the rest once it is over, and adds
 * the request to what the client has used.
 * @throws ApiError 429 when the client has not so many tokens left
 */
export function metered({ usage }: Pick<ServerContext, 'usage'>): Stage {
  return async (generation, next) => {
    const { asked, caller, model, charge } = generation;
    const settle = await caller.meter?.charge(mostTokens(asked));
    try {
      const deltas = await next(generation);
      return watchGeneration(deltas, generation, {
        onValue(delta) {
          charge.outputTokens += spentTokens(delta);
        },
        onEnd() {
          const { isOwn, chargedTokens: outputTokens } = charge;
          const promptTokens = isOwn ? countPromptTokens(asked) : 0;
          const cachedRequests = isOwn ? 0 : 1;
          usage.add(caller.client, model.id, { cachedRequests, promptTokens, outputTokens });
          void settle?.(promptTokens + outputTokens);
        },
      });
    } catch (error) {
      await settle?.(0);
      throw error;
    }
  };
}

/** Tokens that a request may come to, prompts included. */
function mostTokens({ prompts, numChoices }: FanOutRequest): number {
  return prompts.reduce(
    (sum, { promptTokenIds, maxTokens, beams }) =>
      sum + promptTokenIds.length + (beams?.width ?? numChoices) * maxTokens,
    0,
  );
}
