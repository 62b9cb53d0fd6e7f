/** /infill as llama-server has it: what editors ask while somebody types. */
import type { Caller } from '../../front/caller.ts';
import type { FanOutRequest } from '../../front/generation/fan-out.ts';
import { fitContext } from '../../front/generation/fit-context.ts';
import { mapStream } from '../../front/generation/map-stream.ts';
import type { AnswerApi } from '../answers/answer-route.ts';
import type { PreparedAnswer } from '../answers/prepared-answer.ts';
import type { ServedText } from '../runtimes.ts';
import { gather, CompletionText } from '../generation/gather.ts';
import { infillPrompt, requireInfill } from '../generation/infill-prompt.ts';
import { toSettings } from '../generation/parameters.ts';
import { startGeneration } from '../generation/start-generation.ts';
import { UNENDING_EVENTS } from '../http/sse.ts';
import { withLlamaCppDefaults } from '../generation/llama-cpp-defaults.ts';
import { infillBody, type InfillBody } from '../schemas/infill.ts';
import { parseWith } from '../schemas/parse.ts';
import { rejectUnsupportedInInfill } from '../schemas/unsupported.ts';
import { InfillAnswer } from './answer.ts';

/** Snippets leave this share of the context to the answer, where its length is not said. */
const ANSWER_SHARE = 1 / 8;

export const INFILL_API: AnswerApi = {
  path: '/infill',
  prepare,
  style: UNENDING_EVENTS,
  toEvent: (error) => ({ ...error.toEnvelope() }),
};

/** @throws ApiError 4xx, InvalidRequestError when the body can't be served */
async function prepare(served: ServedText, json: unknown, caller: Caller): Promise<PreparedAnswer> {
  const body = parseWith(infillBody, json);
  rejectUnsupportedInInfill(body);
  const request = await toRequest(served, body, caller);
  const isPromptAlone = body.n_predict === 0;
  const answer = () => new InfillAnswer(served.model.id, request, isPromptAlone);
  return {
    stream: body.stream ?? false,
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

async function toRequest(
  served: ServedText,
  body: InfillBody,
  caller: Caller,
): Promise<FanOutRequest> {
  const infillStops = requireInfill(served, 'input_suffix');
  const { maxModelLen } = served.model;
  const numPredict = body.n_predict ?? -1;
  const numAsked = numPredict < 0 ? null : Math.max(1, numPredict);
  const snippets = body.input_extra ?? [];
  const maxTokens =
    snippets.length === 0
      ? maxModelLen
      : maxModelLen - (numAsked ?? Math.ceil(ANSWER_SHARE * maxModelLen));
  const text = {
    prefix: body.input_prefix ?? '',
    suffix: body.input_suffix ?? '',
    begun: body.prompt ?? '',
    snippets: snippets.map(({ filename, text: of }) => ({ name: filename ?? 'tmp', text: of })),
  };
  const tokenIds = await infillPrompt(served, text, { maxTokens, field: 'input_prefix' }, caller);
  const { repeat_penalty: repetition_penalty, ...fields } = body;
  const settings = toSettings(
    { ...fields, repetition_penalty },
    withLlamaCppDefaults(served.model),
  );
  const generation = fitContext(
    { ...settings, stopTokenIds: infillStops, badWords: [] },
    tokenIds,
    {
      maxTokens: numAsked,
      defaultMaxTokens: null,
      truncatePromptTokens: null,
      fields: { prompt: 'input_prefix', maxTokens: 'n_predict' },
    },
    maxModelLen,
  );
  return { prompts: [generation], numChoices: 1 };
}
