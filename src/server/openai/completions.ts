/** /v1/completions: from its body to a prepared generation. */
import type { Caller } from '../../front/caller.ts';
import { fitContext } from '../../front/generation/fit-context.ts';
import type { GenerationRequest } from '../../front/generation/generation.ts';
import { mapStream } from '../../front/generation/map-stream.ts';
import { encodeTexts } from '../../front/prompts/encode-texts.ts';
import { maxPromptTokens } from '../../front/prompts/prompt-length.ts';
import type { PreparedAnswer } from '../answers/prepared-answer.ts';
import type { ServerContext } from '../context.ts';
import type { ServedText } from '../runtimes.ts';
import { badRequest } from '../errors.ts';
import { LogprobsFormat } from '../generation/logprobs-format.ts';
import { requireInVocabulary, toSettings } from '../generation/parameters.ts';
import { infillPrompt, requireInfill } from '../generation/infill-prompt.ts';
import { startGeneration } from '../generation/start-generation.ts';
import { grammarOf } from '../generation/structured-outputs.ts';
import { completionBody, type CompletionBody } from '../schemas/bodies.ts';
import { parseWith } from '../schemas/parse.ts';
import { parsePrompts, type Prompt } from '../schemas/prompt.ts';
import { rejectUnsupportedInCompletion } from '../schemas/unsupported.ts';
import { beamsOf, requireSearchable } from './beams.ts';
import { requireChoices } from './choices.ts';
import {
  CompletionChunks,
  completion,
  withoutOutput,
  type CompletionResponseFormat,
} from './completion-response.ts';
import { CompletionText, gather } from '../generation/gather.ts';
import { promptLogprobsOf } from './prompt-logprobs.ts';
import { createHead, responseOptions } from './response.ts';

/** OpenAI's default for this API. */
const DEFAULT_MAX_TOKENS = 16;

/** @throws ApiError 4xx when the body can't be served. */
export async function prepareCompletion(
  served: ServedText,
  json: unknown,
  caller: Caller,
  server: Pick<ServerContext, 'tiers'>,
): Promise<PreparedAnswer> {
  const body = parseWith(completionBody, json);
  rejectUnsupportedInCompletion(body);
  const isEcho = body.echo ?? false;
  // As with OpenAI: the prompt is scored, and what would follow is left out.
  const isEchoOnly = body.max_tokens === 0;
  if (isEchoOnly && !isEcho) {
    throw badRequest('`max_tokens` may be 0 only with `echo`.', 'max_tokens', 'invalid_value');
  }
  const suffix = body.suffix ?? '';
  const infillStops = suffix === '' ? [] : requireInfill(served, 'suffix');
  for (const other of ['echo', 'truncate_prompt_tokens'] as const) {
    if (suffix === '' || !body[other]) continue;
    const message = `\`suffix\` and \`${other}\` exclude each other.`;
    throw badRequest(message, 'suffix', 'invalid_value');
  }
  const prompts = parsePrompts(body['prompt'], served.admission.mostPerRequest);
  const numChoices = requireChoices(body, prompts.length, served.admission.mostPerRequest);
  const logprobs = body.logprobs ?? null;
  const grammar = grammarOf(body);
  const own = toSettings(body, served.model);
  const stopTokenIds = [...own.stopTokenIds, ...infillStops];
  const promptLogprobs = promptLogprobsOf(body, isEcho ? logprobs : null);
  const beams = beamsOf(body, numChoices, { stopTokenIds, promptLogprobs }, served.model);
  const numTold = beams?.numTexts ?? numChoices;
  const settings = {
    ...own,
    stopTokenIds,
    ...(beams && { beams }),
    // The best choices are picked by log-probability.
    logprobs: numTold > (body.n ?? 1) ? (logprobs ?? 0) : logprobs,
    promptLogprobs,
    badWords: await served.prompts.encodeBadWords(body.bad_words ?? [], caller),
  };
  const limits = {
    maxTokens: isEchoOnly ? 1 : (body.max_tokens ?? null),
    defaultMaxTokens: DEFAULT_MAX_TOKENS,
    truncatePromptTokens: body.truncate_prompt_tokens ?? null,
    truncationSide: body.truncation_side ?? 'left',
    grammar,
    fields: { prompt: 'prompt', maxTokens: 'max_tokens' },
  };
  const echoes: string[] = [];
  const encoded = await encodePrompts(served, prompts, body, caller);
  const requests = encoded.map(({ prompt, tokenIds }) => {
    const request = fitContext(settings, tokenIds, limits, served.model);
    const isTruncated = request.promptTokenIds.length < tokenIds.length;
    if (isEcho) echoes.push(echoOf(served, prompt, request, isTruncated));
    return request;
  });
  const request = {
    prompts: requests,
    numChoices: numTold,
    streamInterval: body.stream_interval ?? 1,
    ...(grammar === null ? {} : { grammar }),
  };
  if (beams !== null) requireSearchable(request);
  const format: CompletionResponseFormat = {
    head: createHead('cmpl-', served, server, body, caller),
    options: responseOptions(body),
    request,
    n: body.n ?? 1,
    echoes,
    numTop: logprobs,
    numPromptTop: body.prompt_logprobs ?? null,
    logprobs: new LogprobsFormat(served.tokenizer, body.return_tokens_as_token_ids ?? false),
  };
  const start = async (starter: Caller) => {
    const deltas = await startGeneration(served, request, starter);
    return isEchoOnly ? mapStream(deltas, withoutOutput) : deltas;
  };
  return {
    stream: body.stream ?? false,
    async chunks(starter) {
      const chunks = new CompletionChunks(format);
      return mapStream(
        await start(starter),
        (delta) => chunks.push(delta),
        () => chunks.end(),
      );
    },
    async whole(starter) {
      const deltas = await start(starter);
      return completion(format, await gather(deltas, request, () => new CompletionText()));
    },
  };
}

interface Encoded {
  readonly prompt: Prompt;
  readonly tokenIds: Int32Array;
}

async function encodePrompts(
  served: ServedText,
  prompts: readonly Prompt[],
  body: CompletionBody,
  caller: Caller,
): Promise<Encoded[]> {
  if (body.suffix) return infillPrompts(served, prompts, body.suffix, caller);
  const texts = prompts.flatMap((prompt) => ('text' in prompt ? [prompt.text] : []));
  const options = {
    field: 'prompt',
    maxTokens: maxPromptTokens(body.truncate_prompt_tokens, served.model),
    addSpecialTokens: body.add_special_tokens ?? true,
  };
  const encoded = (await encodeTexts(served, texts, options, caller)).values();
  return prompts.map((prompt) => {
    if ('text' in prompt) {
      return { prompt, tokenIds: encoded.next().value ?? new Int32Array() };
    }
    requireInVocabulary(prompt.tokenIds, prompt.param, served.model.vocabSize);
    return { prompt, tokenIds: Int32Array.from(prompt.tokenIds) };
  });
}

async function infillPrompts(
  served: ServedText,
  prompts: readonly Prompt[],
  suffix: string,
  caller: Caller,
): Promise<Encoded[]> {
  const maxTokens = maxPromptTokens(null, served.model);
  const encoded: Encoded[] = [];
  for (const prompt of prompts) {
    if (!('text' in prompt)) {
      throw badRequest('`suffix` needs a `prompt` that is a text.', prompt.param, 'invalid_value');
    }
    const text = { prefix: prompt.text, suffix, begun: '', snippets: [] };
    const tokenIds = await infillPrompt(served, text, { maxTokens, field: 'prompt' }, caller);
    encoded.push({ prompt, tokenIds });
  }
  return encoded;
}

/** Text to echo: the prompt's text, or that of its token ids. */
function echoOf(
  { tokenizer }: ServedText,
  prompt: Prompt,
  { promptTokenIds, skipSpecialTokens }: GenerationRequest,
  isTruncated: boolean,
): string {
  if ('text' in prompt && !isTruncated) return prompt.text;
  return tokenizer.decode(promptTokenIds, { skipSpecialTokens });
}
