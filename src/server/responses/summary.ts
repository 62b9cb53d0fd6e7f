/** The summary of a conversation, which the model writes. */
import type { Caller } from '../../front/caller.ts';
import { AssistantMessage } from '../../front/chat/assistant-message.ts';
import { prepareChat, type PreparedChat } from '../../front/chat/prepare-chat.ts';
import { type TokenUsage, UsageCounter } from '../../front/generation/token-usage.ts';
import { ApiError } from '../errors.ts';
import { startChat } from '../generation/start-generation.ts';
import { createId } from '../ids.ts';
import type { ServedText } from '../runtimes.ts';
import type { ResponseBody } from '../schemas/responses.ts';
import { toChatRequest } from './chat-request.ts';
import { fitting } from './fitting.ts';
import type { Item } from './items.ts';
import type { SealedTexts } from './sealed-texts.ts';
import { openSummaries } from './summaries.ts';
import { parseTools } from './tools.ts';

/** Largest share of the model's context. */
const SHARE = 1 / 4;
const MAX_TOKENS = 4096;

const TASK =
  'Write a summary of this conversation for the one who will go on with it and will see nothing else of it: ' +
  'what the user wants, what was decided and done, names of files and values that matter, results of tools, ' +
  'what failed, and what is to be done next. Do not answer the user, and call no tools.';

export interface Summary {
  readonly text: string;
  readonly usage: TokenUsage;
}

/** Fields of a request that its summary has, too. */
export type SummaryFields = Pick<
  ResponseBody,
  'instructions' | 'cache_salt' | 'chat_template_kwargs'
>;

/** @throws ApiError, InvalidRequestError 4xx when the conversation can't be read */
export function prepareSummary(
  served: ServedText,
  items: readonly Item[],
  fields: SummaryFields,
  summaries: SealedTexts,
  caller: Caller,
): Promise<PreparedChat> {
  const { instructions, cache_salt, chat_template_kwargs } = fields;
  const { maxModelLen } = served.model;
  const numTokens = Math.max(1, Math.min(MAX_TOKENS, Math.floor(maxModelLen * SHARE)));
  const body = { instructions, cache_salt, chat_template_kwargs, max_output_tokens: numTokens };
  const prepare = (some: readonly Item[]): Promise<PreparedChat> => {
    const request = toChatRequest(
      body,
      openSummaries(some, summaries),
      parseTools([]),
      served.model,
    );
    return prepareChat(served, request, caller);
  };
  return fitting([...items, taskItem()], prepare);
}

/**
 * Queues it in the last service class: nobody waits for it as for an answer.
 * @returns reads it to its end; ApiError 500 for a summary without a word
 * @throws ApiError 429 or 503 when it can't be queued
 */
export async function startSummary(
  served: ServedText,
  chat: PreparedChat,
  caller: Caller,
): Promise<() => Promise<Summary>> {
  // Nobody goes on with a conversation that ends with its summary.
  const alone = { ...served, nextTurns: null };
  const deltas = await startChat(alone, chat, { ...caller, isOfBatch: true });
  return async () => {
    const usage = new UsageCounter(chat.generation);
    const message = new AssistantMessage();
    for await (const delta of deltas) {
      usage.add(delta);
      message.add(delta);
    }
    const text = message.content.trim();
    if (text !== '') return { text, usage: usage.usage };
    throw new ApiError(500, 'InternalServerError', 'The model wrote no summary.');
  };
}

function taskItem(): Item {
  const content = [{ type: 'input_text' as const, text: TASK }];
  return { id: createId('msg_'), type: 'message', status: 'completed', role: 'user', content };
}
