/** /completion as llama-server has it: one prompt, goes on with it. */
import type { Caller } from '../../front/caller.ts';
import { fitContext } from '../../front/generation/fit-context.ts';
import type { GrammarSource } from '../../grammar/grammar-source.ts';
import type { AnswerApi } from '../answers/answer-route.ts';
import type { PreparedAnswer } from '../answers/prepared-answer.ts';
import { badRequest } from '../errors.ts';
import { encodeOnePrompt } from '../generation/one-prompt.ts';
import { UNENDING_EVENTS } from '../http/sse.ts';
import type { ServedText } from '../runtimes.ts';
import { llamaCompletionBody, type LlamaCompletionBody } from '../schemas/llama-server.ts';
import { parseWith } from '../schemas/parse.ts';
import { rejectUnsupportedInLlamaCompletion } from '../schemas/unsupported.ts';
import { limitsOf, preparedAnswer, settingsOf } from './request.ts';

const HINT = '; /v1/completions takes several';

export const LLAMA_COMPLETION_API: AnswerApi = {
  path: '/completion',
  prepare,
  style: UNENDING_EVENTS,
  toEvent: (error) => ({ ...error.toEnvelope() }),
};

/** @throws ApiError 4xx, InvalidRequestError when the body can't be served */
async function prepare(served: ServedText, json: unknown, caller: Caller): Promise<PreparedAnswer> {
  const body = parseWith(llamaCompletionBody, json);
  rejectUnsupportedInLlamaCompletion(body);
  const grammar = grammarOf(body);
  const tokenIds = await encodeOnePrompt(served, body['prompt'], caller, HINT);
  const generation = fitContext(
    { ...(await settingsOf(served, body, caller)), badWords: [] },
    tokenIds,
    { ...limitsOf(body, 'prompt'), grammar },
    served.model,
  );
  const request = { prompts: [generation], numChoices: 1, ...(grammar && { grammar }) };
  return preparedAnswer(served, request, body);
}

function grammarOf({ grammar, json_schema: schema }: LlamaCompletionBody): GrammarSource | null {
  if (grammar && schema) {
    const message = '`grammar` and `json_schema` exclude each other.';
    throw badRequest(message, 'json_schema', 'invalid_value');
  }
  if (grammar) return { field: 'grammar', form: { kind: 'ebnf', ebnf: grammar } };
  return schema ? { field: 'json_schema', form: { kind: 'json_schema', schema } } : null;
}
