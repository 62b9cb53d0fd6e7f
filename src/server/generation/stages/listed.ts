import { spentTokens } from '../../../front/generation/generation.ts';
import type { ServerContext } from '../../context.ts';
import { createId } from '../../ids.ts';
import type { RunningRequest } from '../../operating/running-requests.ts';
import { countPromptTokens, type Stage, watchGeneration } from './stage.ts';

/** Has a generation on the list of those that run, where operators see it and can end it. */
export function listed({ running }: Pick<ServerContext, 'running'>): Stage {
  return async (generation, next) => {
    const deltas = await next(generation);
    const { request, model, ending } = generation;
    const { client, requestId = createId('req_'), record } = generation.caller;
    const entry: RunningRequest = {
      id: requestId,
      client,
      model: model.id,
      serviceClass: request.prompts[0]?.serviceClass?.name ?? null,
      promptTokens: countPromptTokens(request),
      startedAt: performance.now(),
      state: () => record.state,
      outputTokens: 0,
    };
    return watchGeneration(deltas, generation, {
      onValue(delta) {
        entry.outputTokens += spentTokens(delta);
      },
      onEnd: running.add(entry, ending),
    });
  };
}
