/** Common part of llama-server's APIs that generate: from a checked body to an answer. */
import type { Caller } from '../../front/caller.ts';
import type { FanOutRequest } from '../../front/generation/fan-out.ts';
import type { ContextLimits } from '../../front/generation/fit-context.ts';
import { mapStream } from '../../front/generation/map-stream.ts';
import type { PreparedAnswer } from '../answers/prepared-answer.ts';
import { CompletionText, gather } from '../generation/gather.ts';
import { withLlamaCppDefaults } from '../generation/llama-cpp-defaults.ts';
import { toSettings } from '../generation/parameters.ts';
import { startGeneration } from '../generation/start-generation.ts';
import type { ServedText } from '../runtimes.ts';
import type { LlamaServerBody } from '../schemas/llama-server.ts';
import { LlamaServerAnswer } from './answer.ts';
import { toLogitBias } from './text-biases.ts';

type Length = Pick<LlamaServerBody, 'n_predict'>;

/** Tokens of output; null is as many as fit. A prompt that is computed alone takes one. */
export function numAskedOf({ n_predict: asked }: Length): number | null {
  const numPredict = asked ?? -1;
  return numPredict < 0 ? null : Math.max(1, numPredict);
}

/** @param prompt field that is named in errors */
export function limitsOf(body: Length, prompt: string): ContextLimits {
  return {
    maxTokens: numAskedOf(body),
    defaultMaxTokens: null,
    truncatePromptTokens: null,
    fields: { prompt, maxTokens: 'n_predict' },
  };
}

/** @throws ApiError 400 for a token id outside of the vocabulary; as PromptEncoder for texts of `logit_bias` */
export async function settingsOf(
  served: Pick<ServedText, 'model' | 'prompts'>,
  { repeat_penalty: repetition_penalty, logit_bias: biases = [], ...fields }: LlamaServerBody,
  caller: Caller,
): Promise<ReturnType<typeof toSettings>> {
  const model = withLlamaCppDefaults(served.model);
  const settings = toSettings({ ...fields, repetition_penalty }, model);
  const logitBias = await toLogitBias(served, biases, caller);
  return { ...settings, sampling: { ...settings.sampling, logitBias } };
}

export function preparedAnswer(
  served: ServedText,
  request: FanOutRequest,
  { stream, n_predict: numPredict }: LlamaServerBody,
): PreparedAnswer {
  const answer = () => new LlamaServerAnswer(served.model.id, request, numPredict === 0);
  return {
    stream: stream ?? false,
    async chunks(starter) {
      const growing = answer();
      return mapStream(await startGeneration(served, request, starter), (delta) =>
        growing.push(delta, starter),
      );
    },
    async whole(starter) {
      const deltas = await startGeneration(served, request, starter);
      return answer().whole(await gather(deltas, request, () => new CompletionText()), starter);
    },
  };
}
