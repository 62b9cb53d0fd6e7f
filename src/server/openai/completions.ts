/** /v1/completions: from its body to a prepared generation. */
import type { Caller } from '../../front/caller.ts';
import type { GenerationRequest } from '../../front/generation/generation.ts';
import type { ServerContext } from '../context.ts';
import { badRequest } from '../errors.ts';
import { requireInVocabulary, toGenerationRequest } from '../generation/parameters.ts';
import { inClientWords, maxPromptTokens } from '../generation/prompt-length.ts';
import { completionBody, type CompletionBody } from '../schemas/bodies.ts';
import { parseWith } from '../schemas/parse.ts';
import { parsePrompts, type Prompt } from '../schemas/prompt.ts';
import { refuseUnsupportedInCompletion } from '../schemas/unsupported.ts';
import { grammarOf } from '../generation/structured-outputs.ts';
import { answerOptions, createHead, type PreparedCompletion } from './answer.ts';
import { toFanOut } from './choices.ts';
import { CompletionChunks, completion, type CompletionForm } from './completion-form.ts';
import { LogprobsFormat } from './logprobs.ts';
import { requireServedModel } from './models.ts';
import { promptLogprobsOf } from './prompt-logprobs.ts';

/** OpenAI's default for this API. */
const DEFAULT_MAX_TOKENS = 16;

/** @throws ApiError 4xx when the body can't be served. */
export async function prepareCompletion(
  context: ServerContext,
  json: unknown,
  caller: Caller,
): Promise<PreparedCompletion> {
  const body = parseWith(completionBody, json);
  requireServedModel(context.model, body.model);
  refuseUnsupportedInCompletion(body);
  const isEcho = body.echo ?? false;
  // As with OpenAI: the prompt is scored, and what would follow is left out.
  const isEchoOnly = body.max_tokens === 0;
  if (isEchoOnly && !isEcho) {
    throw badRequest('`max_tokens` may be 0 only with `echo`.', 'max_tokens', 'invalid_value');
  }
  const prompts = parsePrompts(body['prompt'], context.config.maxSequencesPerRequest);
  const logprobs = body.logprobs ?? null;
  const grammar = grammarOf(body);
  const extras = {
    logprobs,
    promptLogprobs: promptLogprobsOf(body, isEcho ? logprobs : null),
    badWords: await context.prompts.encodeBadWords(body.bad_words ?? [], caller),
  };
  const echoes: string[] = [];
  const encoded = await encodePrompts(context, prompts, body, caller);
  const requests = encoded.map(({ prompt, tokenIds }) => {
    const limit = {
      requested: isEchoOnly ? 1 : (body.max_tokens ?? null),
      param: 'max_tokens',
      promptParam: 'prompt',
      fallback: DEFAULT_MAX_TOKENS,
    };
    const request = toGenerationRequest(body, tokenIds, limit, context.model);
    const isTruncated = request.promptTokenIds.length < tokenIds.length;
    if (isEcho) echoes.push(echoOf(context, prompt, request, isTruncated));
    return withExtras(request, extras);
  });
  const fanOut = toFanOut(requests, body, context.config);
  const request = grammar === null ? fanOut : { ...fanOut, grammar };
  const form: CompletionForm = {
    head: createHead('cmpl', context.model.id),
    options: answerOptions(body),
    request,
    n: body.n ?? 1,
    echoes,
    showsOutput: !isEchoOnly,
    numTop: logprobs,
    numPromptTop: body.prompt_logprobs ?? null,
    format: new LogprobsFormat(context.tokenizer, body.return_tokens_as_token_ids ?? false),
  };
  return {
    request,
    stream: body.stream ?? false,
    chunks: () => new CompletionChunks(form),
    whole: (answers) => completion(form, answers),
  };
}

interface Encoded {
  readonly prompt: Prompt;
  readonly tokenIds: Int32Array;
}

async function encodePrompts(
  { prompts: encoder, model }: ServerContext,
  prompts: readonly Prompt[],
  body: CompletionBody,
  caller: Caller,
): Promise<Encoded[]> {
  const texts = prompts.flatMap((prompt) => ('text' in prompt ? [prompt.text] : []));
  const maxTokens = maxPromptTokens(body, model);
  const options = { addSpecialTokens: body.add_special_tokens ?? true, maxTokens };
  const encoding = encoder.encodeTexts(texts, options, caller).catch((error: unknown) => {
    throw inClientWords(error, maxTokens, 'prompt');
  });
  const encoded = (await encoding).values();
  return prompts.map((prompt) => {
    if ('text' in prompt) {
      return { prompt, tokenIds: encoded.next().value ?? new Int32Array() };
    }
    requireInVocabulary(prompt.tokenIds, prompt.param, model.vocabSize);
    return { prompt, tokenIds: Int32Array.from(prompt.tokenIds) };
  });
}

function withExtras(
  request: GenerationRequest,
  extras: Partial<GenerationRequest>,
): GenerationRequest {
  return { ...request, ...extras };
}

/** What is echoed: the text that was given, or that of the token ids given. */
function echoOf(
  { tokenizer }: ServerContext,
  prompt: Prompt,
  { promptTokenIds, skipSpecialTokens }: GenerationRequest,
  isTruncated: boolean,
): string {
  if ('text' in prompt && !isTruncated) return prompt.text;
  return tokenizer.decode(promptTokenIds, { skipSpecialTokens });
}
