/** `context_management` of a response: a conversation that is too long is summed up before it is answered. */
import type { Caller } from '../../front/caller.ts';
import type { ChatDelta } from '../../front/chat/chat-delta.ts';
import type { PreparedChat } from '../../front/chat/prepare-chat.ts';
import { withDeadline } from '../../front/deadline.ts';
import type { FanOutRequest } from '../../front/generation/fan-out.ts';
import type { TokenUsage } from '../../front/generation/token-usage.ts';
import { cannotResume } from '../errors.ts';
import { startChat } from '../generation/start-generation.ts';
import type { ServedText } from '../runtimes.ts';
import type { ResponseBody } from '../schemas/responses.ts';
import { fitting, isTooLong } from './fitting.ts';
import type { CompactionItem, Item } from './items.ts';
import type { SealedTexts } from './sealed-texts.ts';
import { prepareSummary, startSummary } from './summary.ts';
import { canBeCompacted, rememberedOf } from './summaries.ts';

/** Share of the model's context for a client that names no threshold: the rest is for the summary. */
const DEFAULT_SHARE = 3 / 4;

/** A summary that was written, and the answer that is now begun. */
export interface Compacted {
  readonly sealed: string;
  /** Tokens that the summary took. */
  readonly usage: TokenUsage;
  readonly generation: FanOutRequest;
}

export interface AnswerOptions {
  readonly served: ServedText;
  readonly body: ResponseBody;
  /** The conversation as the model is to read it. */
  readonly items: readonly Item[];
  readonly summaries: SealedTexts;
  /** Makes a chat that asks for the answer. */
  readonly prepare: (items: readonly Item[]) => Promise<PreparedChat>;
}

export interface Answering {
  readonly chat: PreparedChat;
  /** Work that has to come first, and makes another chat; null for none. */
  readonly compaction: Compaction | null;
}

/** @throws ApiError, InvalidRequestError 4xx for a conversation that could not be answered, summed up or not */
export async function prepareAnswer(options: AnswerOptions, caller: Caller): Promise<Answering> {
  const { items, prepare } = options;
  const threshold = compactThresholdOf(options);
  const chat = await (threshold === null
    ? fittingChat(options, items)
    : chatWithin(threshold, () => prepare(items)));
  if (chat !== null) return { chat, compaction: null };
  const compaction = await Compaction.prepare(options, caller);
  return { chat: compaction.blank, compaction };
}

/** Tokens above which a conversation is summed up; null if it is not to be, or would not be shorter. */
function compactThresholdOf({ served, body, items }: AnswerOptions): number | null {
  const [asked] = body.context_management ?? [];
  if (asked === undefined || !canBeCompacted(items)) return null;
  return asked.compact_threshold ?? Math.floor(served.model.maxModelLen * DEFAULT_SHARE);
}

/** Null for a conversation of more tokens than `threshold`, or than the model reads. */
async function chatWithin(
  threshold: number,
  prepare: () => Promise<PreparedChat>,
): Promise<PreparedChat | null> {
  try {
    const chat = await prepare();
    return chat.promptTokenIds.length > threshold ? null : chat;
  } catch (error) {
    if (isTooLong(error)) return null;
    throw error;
  }
}

function fittingChat(
  { body, prepare }: AnswerOptions,
  items: readonly Item[],
): Promise<PreparedChat> {
  return body.truncation === 'auto' ? fitting(items, prepare) : prepare(items);
}

/** A summary, and the answer that follows on it. */
export class Compaction {
  /** The answer's chat, with a summary of no words: what is wrong with it is known before any work. */
  readonly blank: PreparedChat;
  readonly #options: AnswerOptions;
  readonly #summary: PreparedChat;

  private constructor(options: AnswerOptions, blank: PreparedChat, summary: PreparedChat) {
    this.#options = options;
    this.blank = blank;
    this.#summary = summary;
  }

  /** @throws ApiError, InvalidRequestError 4xx when the conversation could not be answered even so */
  static async prepare(options: AnswerOptions, caller: Caller): Promise<Compaction> {
    if (caller.answer?.adapter !== undefined) {
      throw cannotResume('An answer after a compaction is not continued by another server.');
    }
    const { served, body, items, summaries } = options;
    const blank = await fittingChat(options, withSummary(items, ''));
    const summary = await prepareSummary(served, items, body, summaries, caller);
    return new Compaction(options, blank, summary);
  }

  /**
   * Queues the summary.
   * @returns what came of it, and then the deltas of the answer
   * @throws ApiError 429 or 503 when it can't be queued
   */
  async start(caller: Caller): Promise<AsyncGenerator<Compacted | ChatDelta, void>> {
    const { answer: _staysHere, ...here } = caller;
    const timeoutMs = this.blank.generation.prompts[0]?.timeoutMs ?? null;
    const bounded = { ...here, signal: withDeadline(caller.signal, timeoutMs) };
    // The request's record is the answer's.
    const { record: _ofAnswer, ...apart } = bounded;
    const finish = await startSummary(this.#options.served, this.#summary, apart);
    return this.#run(finish, bounded);
  }

  async *#run(
    finish: Awaited<ReturnType<typeof startSummary>>,
    caller: Caller,
  ): AsyncGenerator<Compacted | ChatDelta, void> {
    const { served, items, summaries } = this.#options;
    const { text, usage } = await finish();
    const sealed = summaries.seal(text);
    const chat = await fittingChat(this.#options, withSummary(items, sealed));
    yield { sealed, usage, generation: chat.generation };
    yield* await startChat(served, chat, caller);
  }
}

function withSummary(items: readonly Item[], sealed: string): readonly Item[] {
  const summary: CompactionItem = { id: '', type: 'compaction', encrypted_content: sealed };
  return rememberedOf([...items, summary]);
}
