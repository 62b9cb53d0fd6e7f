/** From the options of a program to a chat request. */
import { thinkingOf } from '../../front/templates/thinking.ts';
import { z } from 'zod';
import { alikeNames } from '../../front/registry/near-names.ts';
import type { ChatRequest } from '../../front/chat/chat-request.ts';
import { InvalidRequestError } from '../../front/invalid-request.ts';
import { ApiError } from '../../server/errors.ts';
import { toSettings } from '../../server/generation/parameters.ts';
import { grammarOf } from '../../server/generation/structured-outputs.ts';
import type { ServedModel } from '../../server/runtimes.ts';
import { generationFields, shortText, templateVariables } from '../../server/schemas/fields.ts';
import { parseMessages } from '../../server/schemas/messages.ts';
import { parseWith } from '../../server/schemas/parse.ts';
import { structuredFields } from '../../server/schemas/structured.ts';
import { told } from '../../told.ts';
import type { GenerateOptions, Message, MessagePart } from './model.ts';

const fields = {
  max_tokens: generationFields.max_tokens,
  min_tokens: generationFields.min_tokens,
  temperature: generationFields.temperature,
  top_p: generationFields.top_p,
  top_k: generationFields.top_k,
  min_p: generationFields.min_p,
  repetition_penalty: generationFields.repetition_penalty,
  presence_penalty: generationFields.presence_penalty,
  frequency_penalty: generationFields.frequency_penalty,
  seed: generationFields.seed,
  stop: generationFields.stop,
  stop_token_ids: generationFields.stop_token_ids,
  ignore_eos: generationFields.ignore_eos,
  logit_bias: generationFields.logit_bias,
  bad_words: generationFields.bad_words,
  priority: generationFields.priority,
  structured_outputs: structuredFields.structured_outputs,
  reasoning_effort: shortText.nullish(),
  template_variables: templateVariables.nullish(),
};

const body = z.looseObject(fields);

/** The options by their names; of each, how an API calls its field. */
const FIELD_OF: ReadonlyMap<string, string> = new Map(
  Object.keys(fields).map((field) => [inCamelCase(field), field]),
);

/** @throws InvalidRequestError naming the option that is wrong, or that there is not */
export function toChatRequest(
  messages: readonly Message[],
  options: GenerateOptions,
  model: Pick<ServedModel, 'samplingDefaults' | 'vocabSize'>,
): ChatRequest {
  return inOwnWords(() => {
    const asked = parseWith(body, toFields(options));
    return {
      messages: messages.length === 0 ? [] : parseMessages(messages.map(toApiMessage)),
      tools: [],
      toolChoice: 'none',
      addGenerationPrompt: true,
      continueFinalMessage: false,
      templateVariables: asked.template_variables ?? null,
      thinking: thinkingOf(asked.reasoning_effort),
      parallelToolCalls: false,
      responseFormat: grammarOf(asked),
      settings: toSettings(asked, model),
      badWords: asked.bad_words ?? [],
      numChoices: 1,
      limits: {
        maxTokens: asked.max_tokens ?? null,
        defaultMaxTokens: null,
        truncatePromptTokens: null,
        fields: { prompt: 'prompt', maxTokens: 'maxTokens' },
      },
    };
  });
}

/** As clients send it. */
function toApiMessage({ content, ...message }: Message): object {
  if (!Array.isArray(content)) return { ...message, content };
  return { ...message, content: content.map(toApiPart) };
}

function toApiPart(part: MessagePart): object {
  if (part.type !== 'image' || !((part.image as unknown) instanceof Uint8Array)) return part;
  const { image, detail = 'auto' } = part;
  // The file says what kind it is.
  const url = `data:image/png;base64,${Buffer.from(image).toString('base64')}`;
  return { type: 'image_url', image_url: { url, detail } };
}

function toFields(given: GenerateOptions): Record<string, unknown> {
  const { signal: _, ...options } = given;
  const entries = Object.entries(options).map(([name, value]): [string, unknown] => {
    const field = FIELD_OF.get(name);
    if (field !== undefined) return [field, value];
    const [near] = alikeNames(name, [...FIELD_OF.keys()]);
    const hint = near === undefined ? '' : `; is it ${near}?`;
    throw new InvalidRequestError(`there is no option ${told(name, 100)}${hint}`, told(name, 100));
  });
  return Object.fromEntries(entries);
}

/** Runs a check of an API; its errors name options, where the API has fields. */
function inOwnWords<R>(check: () => R): R {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { message, param, code } = error;
    const option = param === null ? null : inCamelCase(param);
    const words = param === null ? message : message.replace(`\`${param}\``, `\`${option}\``);
    throw new InvalidRequestError(words, option, code);
  }
}

/** `maxTokens` of `max_tokens`. */
function inCamelCase(field: string): string {
  return field.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
