/** /infill as llama-server has it: what editors ask while somebody types. */
import type { Caller } from '../../front/caller.ts';
import type { FanOutRequest } from '../../front/generation/fan-out.ts';
import { fitContext } from '../../front/generation/fit-context.ts';
import type { AnswerApi } from '../answers/answer-route.ts';
import type { PreparedAnswer } from '../answers/prepared-answer.ts';
import type { ServedText } from '../runtimes.ts';
import { infillPrompt, requireInfill } from '../generation/infill-prompt.ts';
import { UNENDING_EVENTS } from '../http/sse.ts';
import { infillBody, type InfillBody } from '../schemas/llama-server.ts';
import { parseWith } from '../schemas/parse.ts';
import { rejectUnsupportedByLlamaServer } from '../schemas/unsupported.ts';
import { limitsOf, numAskedOf, preparedAnswer, settingsOf } from './request.ts';

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
  rejectUnsupportedByLlamaServer(body);
  const request = await toRequest(served, body, caller);
  return preparedAnswer(served, request, body);
}

async function toRequest(
  served: ServedText,
  body: InfillBody,
  caller: Caller,
): Promise<FanOutRequest> {
  const infillStops = requireInfill(served, 'input_suffix');
  const { maxModelLen } = served.model;
  const numAsked = numAskedOf(body);
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
  const generation = fitContext(
    { ...(await settingsOf(served, body, caller)), stopTokenIds: infillStops, badWords: [] },
    tokenIds,
    limitsOf(body, 'input_prefix'),
    served.model,
  );
  return { prompts: [generation], numChoices: 1 };
}
