/** From bodies of /api/chat and /api/generate to a chat. */
import { imagePart } from '../../front/chat/chat-images.ts';
import type { ChatMessage, ContentPart } from '../../front/templates/chat-message.ts';
import { type ChatRequest, requireFewMessages } from '../../front/chat/chat-request.ts';
import type { Thinking } from '../../front/templates/thinking.ts';
import type { ContextLimits } from '../../front/generation/fit-context.ts';
import type { GrammarSource } from '../../grammar/grammar-source.ts';
import type { ServedText } from '../runtimes.ts';
import { badRequest } from '../errors.ts';
import { topLogprobsOf, toSettings } from '../generation/parameters.ts';
import {
  type OllamaChatBody,
  type OllamaGenerateBody,
  ollamaMessage,
  type OllamaMessage,
} from '../schemas/ollama.ts';
import { parseWith } from '../schemas/parse.ts';
import { withLlamaCppDefaults } from '../generation/llama-cpp-defaults.ts';

type AskedModel = Pick<ServedText, 'model' | 'chatFormat'>;

/** Fields about the answer that both bodies have. */
type AnswerFields = Pick<
  OllamaChatBody,
  'options' | 'format' | 'think' | 'logprobs' | 'top_logprobs'
>;

/** One by one, so that the first bad item of a long list ends it. @throws ApiError 400 */
export function parseOllamaMessages(value: unknown): readonly OllamaMessage[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) {
    throw badRequest('`messages`: expected a list of messages.', 'messages', 'invalid_value');
  }
  requireFewMessages(value, 'messages');
  return value.map((item: unknown, index) => parseWith(ollamaMessage, item, ['messages', index]));
}

/** @throws ApiError 400 when the body can't be served */
export function toChatRequest(
  body: OllamaChatBody,
  messages: readonly OllamaMessage[],
  asked: AskedModel,
): ChatRequest {
  const tools = body.tools ?? [];
  if (tools.length > 0 && asked.chatFormat.toolCalls === null) {
    throw badRequest(`\`${asked.model.id}\` does not support tools.`, 'tools');
  }
  // An answer that was begun is gone on with.
  const isBegun = messages.at(-1)?.role === 'assistant';
  return {
    ...toAnswerRequest(body, asked, 'messages'),
    messages: messages.map((message, at) => toChatMessage(message, `messages.${at}`)),
    tools,
    toolChoice: tools.length === 0 ? 'none' : 'auto',
    addGenerationPrompt: !isBegun,
    continueFinalMessage: isBegun,
  };
}

/** A question, and perhaps a system message. @throws ApiError 400 when the body can't be served */
export function toSingleTurn(
  body: OllamaGenerateBody,
  prompt: string,
  asked: AskedModel,
): ChatRequest {
  const system = body.system ?? '';
  return {
    ...toAnswerRequest(body, asked, 'prompt'),
    messages: [
      ...(system === '' ? [] : [{ role: 'system', content: system }]),
      { role: 'user', content: contentOf(prompt, body.images, 'images') },
    ],
    tools: [],
    toolChoice: 'none',
    addGenerationPrompt: true,
    continueFinalMessage: false,
  };
}

/** Converts the fields about the answer, for both bodies. */
export function toAnswerRequest(body: AnswerFields, asked: AskedModel, prompt: string) {
  return {
    parallelToolCalls: true,
    templateVariables: null,
    thinking: toThinking(body, asked),
    responseFormat: toGrammar(body.format),
    settings: {
      ...toSettings(toFields(body), withLlamaCppDefaults(asked.model)),
      logprobs: topLogprobsOf(body),
    },
    badWords: [],
    numChoices: 1,
    limits: toLimits(body, prompt),
  };
}

function toFields({ options }: AnswerFields) {
  const { num_predict: _, repeat_penalty: repetition_penalty, ...fields } = options ?? {};
  return {
    temperature: fields.temperature,
    top_p: fields.top_p,
    top_k: fields.top_k,
    min_p: fields.min_p,
    seed: fields.seed,
    stop: fields.stop,
    presence_penalty: fields.presence_penalty,
    frequency_penalty: fields.frequency_penalty,
    typical_p: fields.typical_p,
    repetition_penalty,
  };
}

/** As with Ollama, an answer ends where the context does, whatever was asked for. */
function toLimits({ options }: AnswerFields, prompt: string): ContextLimits {
  const numPredict = options?.num_predict ?? -1;
  if (numPredict === 0) {
    const field = 'options.num_predict';
    throw badRequest(`\`${field}\`: expected 1 or more, or -1 for what fits.`, field);
  }
  return {
    maxTokens: null,
    defaultMaxTokens: numPredict < 0 ? null : numPredict,
    truncatePromptTokens: null,
    fields: { prompt, maxTokens: 'options.num_predict' },
  };
}

/** @throws ApiError 400 where the model cannot */
function toThinking({ think }: AnswerFields, { model, chatFormat }: AskedModel): Thinking {
  if (think === undefined || think === null) return null;
  if (think !== false && chatFormat.reasoning === null) {
    throw badRequest(`\`${model.id}\` does not support thinking.`, 'think');
  }
  return think;
}

function toGrammar(format: AnswerFields['format']): GrammarSource | null {
  if (format === undefined || format === null || format === '') return null;
  return {
    field: 'format',
    form: format === 'json' ? { kind: 'json_object' } : { kind: 'json_schema', schema: format },
  };
}

/** Images come first, as in Ollama. */
function contentOf(
  text: string,
  images: OllamaMessage['images'],
  field: string,
): string | ContentPart[] {
  if (!images || images.length === 0) return text;
  const parts = images.map((data, at) => imagePart({ type: 'base64', data }, `${field}.${at}`));
  return text === '' ? parts : [...parts, { type: 'text', text }];
}

function toChatMessage(message: OllamaMessage, field: string): ChatMessage {
  const { role, content, thinking, tool_calls: calls, tool_name: name } = message;
  return {
    role,
    content: contentOf(content ?? '', message.images, `${field}.images`),
    ...(thinking ? { reasoning_content: thinking } : {}),
    ...(calls && calls.length > 0 ? { tool_calls: calls.map(toToolCall) } : {}),
    ...(name ? { name } : {}),
    ...(message.tool_call_id ? { tool_call_id: message.tool_call_id } : {}),
  };
}

function toToolCall(call: NonNullable<OllamaMessage['tool_calls']>[number]) {
  const { name, arguments: args } = call.function;
  return {
    ...(call.id ? { id: call.id } : {}),
    type: 'function',
    function: { name, arguments: args ?? {} },
  };
}
