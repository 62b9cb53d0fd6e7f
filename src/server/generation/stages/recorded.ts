import { spentTokens } from '../../../front/generation/generation.ts';
import type { ModelFacts } from '../../../front/request-record.ts';
import { LIMITS } from '../../../limits.ts';
import type { ServerContext } from '../../context.ts';
import type { TextRuntime } from '../../runtimes.ts';
import { countPromptTokens, type Generation, type Stage, watchGeneration } from './stage.ts';

/** Notes for logs, traces and metrics what is asked. */
export function recorded({
  prompts,
  config,
}: Pick<TextRuntime, 'prompts'> & Pick<ServerContext, 'config'>): Stage {
  return async (generation, next) => {
    const { caller, asked } = generation;
    const { record } = caller;
    record.requestId = caller.requestId ?? null;
    record.asked = factsOf(generation);
    record.numPromptTokens = countPromptTokens(asked);
    if (config.logPrompts) {
      const [first] = asked.prompts;
      const beginning = first?.promptTokenIds.subarray(0, LIMITS.loggedPromptTokens) ?? [];
      record.prompt = await prompts.decode([...beginning], caller);
    }
    return next(generation);
  };
}

/** Notes what is computed, which is nothing of an answer that was found. */
export const counted: Stage = async (generation, next) => {
  const { record } = generation.caller;
  const { numChoices } = generation.request;
  let outputTokens = 0;
  return watchGeneration(await next(generation), generation, {
    onValue(delta) {
      const { numCachedTokens, choice = 0 } = delta;
      outputTokens += spentTokens(delta);
      // The other choices find what the first has just computed.
      if (numCachedTokens !== undefined && choice % numChoices === 0) {
        record.numCachedTokens += numCachedTokens;
      }
    },
    onEnd() {
      record.numOutputTokens = outputTokens;
    },
  });
};

function factsOf({ asked, model, operation }: Generation): ModelFacts | null {
  const [first] = asked.prompts;
  if (first === undefined) return null;
  const { maxTokens, stop, sampling } = first;
  const generation = { numChoices: asked.numChoices, maxTokens, stop, sampling };
  return { operation, model: model.id, generation };
}
