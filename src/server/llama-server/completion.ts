/** /completion as llama-server has it: one prompt, goes on with it. */
import type { Caller } from '../../front/caller.ts';
import { fitContext } from '../../front/generation/fit-context.ts';
import { encodeTexts } from '../../front/prompts/encode-texts.ts';
import type { GrammarSource } from '../../grammar/grammar-source.ts';
import type { AnswerApi } from '../answers/answer-route.ts';
import type { PreparedAnswer } from '../answers/prepared-answer.ts';
import { badRequest } from '../errors.ts';
import { requireInVocabulary } from '../generation/parameters.ts';
import { UNENDING_EVENTS } from '../http/sse.ts';
import type { ServedText } from '../runtimes.ts';
import { llamaCompletionBody, type LlamaCompletionBody } from '../schemas/llama-server.ts';
import { parseWith } from '../schemas/parse.ts';
import { parsePrompts } from '../schemas/prompt.ts';
import { rejectUnsupportedInLlamaCompletion } from '../schemas/unsupported.ts';
import { limitsOf, preparedAnswer, settingsOf } from './request.ts';

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
  const tokenIds = await encodePrompt(served, body['prompt'], caller);
  const generation = fitContext(
    { ...settingsOf(served, body), badWords: [] },
    tokenIds,
    limitsOf(body, 'prompt'),
    served.model.maxModelLen,
  );
  const request = { prompts: [generation], numChoices: 1, ...(grammar && { grammar }) };
  return preparedAnswer(served, request, body);
}

async function encodePrompt(
  { prompts, model }: ServedText,
  value: unknown,
  caller: Caller,
): Promise<Int32Array> {
  const [prompt, another] = parsePrompts(value, 2);
  if (prompt === undefined || another !== undefined) {
    const message =
      '`prompt`: expected one text, or the token ids of one; /v1/completions takes several.';
    throw badRequest(message, 'prompt', 'invalid_value');
  }
  if ('tokenIds' in prompt) {
    requireInVocabulary(prompt.tokenIds, prompt.param, model.vocabSize);
    return Int32Array.from(prompt.tokenIds);
  }
  const options = { maxTokens: model.maxModelLen, field: 'prompt' };
  const [tokenIds = new Int32Array()] = await encodeTexts(
    { prompts },
    [prompt.text],
    options,
    caller,
  );
  return tokenIds;
}

function grammarOf({ grammar, json_schema: schema }: LlamaCompletionBody): GrammarSource | null {
  if (grammar && schema) {
    const message = '`grammar` and `json_schema` exclude each other.';
    throw badRequest(message, 'json_schema', 'invalid_value');
  }
  if (grammar) return { field: 'grammar', form: { kind: 'ebnf', ebnf: grammar } };
  return schema ? { field: 'json_schema', form: { kind: 'json_schema', schema } } : null;
}
