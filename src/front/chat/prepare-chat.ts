/** From what a client asks of a chat to what the generator takes. */
import type { Caller } from '../caller.ts';
import type { FanOutRequest } from '../generation/fan-out.ts';
import { fitContext, type TextContext } from '../generation/fit-context.ts';
import type { PromptEncoder } from '../prompts/prompt-encoder.ts';
import { maxPromptTokens } from '../prompts/prompt-length.ts';
import { InvalidRequestError } from '../invalid-request.ts';
import { ChatDeltas } from './chat-deltas.ts';
import type { ChatFormat } from './chat-format.ts';
import { type SeeingModel, withImages } from './chat-images.ts';
import { encodeChat } from './chat-prompt.ts';
import type { ChatPrompt, ChatRequest } from './chat-request.ts';
import { outputFormatOf } from './output-format.ts';
import { thoughtBudgetOf } from './thought-marks.ts';

/** Parts of a model that preparing a chat needs. */
export interface ChatModel extends SeeingModel {
  readonly prompts: Pick<PromptEncoder, 'canChat' | 'encodeChat' | 'encodeBadWords'>;
  readonly chatFormat: ChatFormat;
  readonly model: TextContext & { readonly id: string };
}

/** A chat that was checked and can be started. */
export interface PreparedChat {
  readonly generation: FanOutRequest;
  readonly promptTokenIds: Int32Array;
  /** Chat that the prompt was made of; left out if the chat can't be continued. */
  readonly prompt?: ChatPrompt;
  /** Reads one run of the generation. @param answerId see ChatDeltas */
  createDeltas(answerId: string): ChatDeltas;
}

/**
 * @throws InvalidRequestError in the words of the client's API when the chat can't be served; for
 *   long prompts also what PromptEncoder throws.
 */
export async function prepareChat(
  { prompts, chatFormat, model, images }: ChatModel,
  asked: ChatRequest,
  caller: Caller,
): Promise<PreparedChat> {
  const request = await withImages({ model, images }, asked, caller);
  const { settings, limits, badWords, numChoices, streamInterval = 1 } = request;
  if (request.images !== undefined && limits.truncatePromptTokens !== null) {
    const message = '`truncate_prompt_tokens`: a prompt with images is not cut.';
    throw new InvalidRequestError(message, 'truncate_prompt_tokens', 'unsupported_parameter');
  }
  const maxTokens = maxPromptTokens(limits.truncatePromptTokens, model);
  const promptOptions = { maxTokens, field: limits.fields.prompt };
  const prompt = await encodeChat({ prompts, model }, request, promptOptions, caller);
  const format = outputFormatOf(chatFormat, request, prompt.text);
  // Markers may be special tokens, which must be shown to be found.
  const { toolCalls, reasoning, grammar } = format;
  const thought = thoughtBudgetOf(chatFormat, request, reasoning?.place ?? 'after');
  const showsMarkers =
    toolCalls?.format.hasSpecialMarker === true || reasoning?.format.hasSpecialMarker === true;
  const resolved = {
    ...settings,
    badWords: await prompts.encodeBadWords(badWords, caller),
    skipSpecialTokens: settings.skipSpecialTokens && !showsMarkers,
    textOffsets: format.reasoning !== null,
    ...(prompt.images === undefined ? {} : { images: prompt.images }),
    ...(thought === null ? {} : { thought }),
  };
  const generation = fitContext(resolved, prompt.tokenIds, { ...limits, grammar }, model);
  return {
    generation: {
      prompts: [generation],
      numChoices,
      streamInterval,
      ...(grammar === null ? {} : { grammar }),
    },
    promptTokenIds: generation.promptTokenIds,
    ...(request.images === undefined ? { prompt: request } : {}),
    createDeltas: (answerId) => new ChatDeltas(format, answerId),
  };
}
