/** One response from its body to its events, whatever carries them. */
import type { Caller } from '../../front/caller.ts';
import type { ChatDelta } from '../../front/chat/chat-delta.ts';
import type { ChatRequest } from '../../front/chat/chat-request.ts';
import { prepareChat, type PreparedChat } from '../../front/chat/prepare-chat.ts';
import { UsageCounter } from '../../front/generation/token-usage.ts';
import type { ServerContext } from '../context.ts';
import type { ServedText } from '../runtimes.ts';
import { hasLeft } from '../../front/deadline.ts';
import type { ApiError } from '../errors.ts';
import { type AnswerLogprobs, LogprobsFormat } from '../generation/logprobs-format.ts';
import { startChat } from '../generation/start-generation.ts';
import { ownTurn } from '../../own-turn.ts';
import { createId } from '../ids.ts';
import type { JsonObject } from '../json-object.ts';
import { parseWith } from '../schemas/parse.ts';
import { responseBody, type ResponseBody } from '../schemas/responses.ts';
import { rejectUnsupportedInResponse } from '../schemas/unsupported.ts';
import { grantedClass, tierNameOf } from '../tiers/service-tiers.ts';
import { toApiError } from '../to-api-error.ts';
import { clientOf, type FindTurn, readConversation } from './asked-conversation.ts';
import { type Compacted, type Compaction, prepareAnswer } from './compaction.ts';
import type { Item } from './items.ts';
import type { EventLog } from './event-log.ts';
import type { EventFields } from './output-items.ts';
import type { ResponseEvent } from './response-event.ts';
import { Output } from './output.ts';
import {
  INITIAL_STATE,
  toResponseObject,
  type ResponseHead,
  type ResponseState,
} from './response-object.ts';
import type { ResponsePartition, StoredResponse } from './partition.ts';
import { openSummaries, rememberedOf } from './summaries.ts';
import type { SealedTexts } from './sealed-texts.ts';
import { type CallableTools, parseTools } from './tools.ts';
import { Turn } from './turn.ts';
import { conversationIdOf } from './response-object.ts';
import { toChatRequest, topLogprobsOf } from './chat-request.ts';

/** Services of the server that responses need. */
export type ResponseServices = Pick<ServerContext, 'responses' | 'resumption' | 'tiers' | 'logger'>;

interface Parts {
  readonly body: ResponseBody;
  readonly input: readonly Item[];
  readonly previous: Turn | null;
  readonly tools: CallableTools;
  readonly chat: PreparedChat;
  /** Null for a conversation that is answered as it is. */
  readonly compaction: Compaction | null;
  readonly thoughts: SealedTexts;
  /** Where its client's responses are kept. */
  readonly partition: ResponsePartition;
}

/** A checked response, to be started once. */
export class PreparedResponse {
  readonly body: ResponseBody;
  readonly id: string;
  /** The conversation after this response; null before it has ended well. */
  turn: Turn | null = null;
  /** Error that made it fail. */
  error: ApiError | null = null;
  readonly #served: ServedText;
  readonly #server: ResponseServices;
  readonly #head: ResponseHead;
  readonly #input: readonly Item[];
  readonly #tools: CallableTools;
  readonly #previous: Turn | null;
  readonly #chat: PreparedChat;
  readonly #compaction: Compaction | null;
  readonly #partition: ResponsePartition;
  readonly #output: Output;
  #usage: UsageCounter;
  readonly #nextEventNumber: () => number;
  #state: ResponseState = INITIAL_STATE;
  #events: EventLog | null = null;

  private constructor(
    served: ServedText,
    parts: Parts,
    answer: Caller['answer'],
    server: ResponseServices,
  ) {
    const ownId = answer?.id ?? createId('');
    let numEvents = 0;
    this.id = `resp_${ownId}`;
    this.#nextEventNumber = () => answer?.nextEventNumber() ?? numEvents++;
    this.#served = served;
    this.#server = server;
    this.body = parts.body;
    this.#input = parts.input;
    this.#tools = parts.tools;
    this.#previous = parts.previous;
    this.#chat = parts.chat;
    this.#compaction = parts.compaction;
    this.#partition = parts.partition;
    const { include } = parts.body;
    this.#output = new Output(ownId, {
      logprobs: outputLogprobs(served, parts.body),
      tools: parts.tools.known,
      seal: include?.includes('reasoning.encrypted_content') ? parts.thoughts : null,
    });
    this.#usage = new UsageCounter(parts.chat.generation);
    const isStored = (parts.body.store ?? true) && server.responses.isEnabled;
    this.#head = { id: this.id, createdAt: answer?.created ?? now(), isStored };
  }

  /** @throws ApiError 4xx when the body can't be served. */
  static async prepare(
    served: ServedText,
    json: unknown,
    findTurn: FindTurn,
    caller: Caller,
    server: ResponseServices,
  ): Promise<PreparedResponse> {
    const body = parseWith(responseBody, json);
    rejectUnsupportedInResponse(body);
    const client = clientOf(caller.client, findTurn, server);
    const { previous, input, items } = readConversation(body, client);
    const { partition, texts } = client;
    const { thoughts, summaries } = texts;
    const tools = parseTools(body.tools ?? []);
    const toChat = (some: readonly Item[]): ChatRequest =>
      toChatRequest(body, openSummaries(some, summaries), tools, served.model);
    const prepare = (some: readonly Item[]): Promise<PreparedChat> =>
      prepareChat(served, toChat(some), caller);
    const options = { served, body, items: rememberedOf(items), summaries, prepare };
    const { chat, compaction } = await prepareAnswer(options, caller);
    const granted = grantedClass(server.tiers, caller, body.service_tier);
    const tiered = { ...body, service_tier: tierNameOf(granted) };
    const parts = { body: tiered, input, previous, tools, chat, compaction, thoughts, partition };
    return new PreparedResponse(served, parts, caller.answer, server);
  }

  get numInputTokens(): number {
    return this.#chat.promptTokenIds.length;
  }

  get response(): JsonObject {
    const { skipped } = this.#tools;
    return toResponseObject(this.#head, this.body, this.#served.model, this.#state, skipped);
  }

  /**
   * Queues it.
   * @param cancel ends it, for later requests to do so
   * @param events where its events are kept
   * @returns its events. A failure is the last of them; only an abort makes the iteration throw.
   * @throws ApiError 400 for a format that can't be enforced, 429 or 503 when it can't be queued.
   */
  async start(
    caller: Caller,
    cancel: (() => void) | null = null,
    events: EventLog | null = null,
  ): Promise<AsyncGenerator<readonly ResponseEvent[], void>> {
    this.#events = events;
    const deltas = await (this.#compaction?.start(caller) ??
      startChat(this.#served, this.#chat, caller));
    if (this.#head.isStored) this.#partition.put(this.#toStored(cancel));
    return this.#run(deltas, caller.signal);
  }

  /** Keeps it as a conversation to go on with, without generating anything. */
  skip(): readonly ResponseEvent[] {
    this.turn = new Turn(this.#previous, this.#input);
    this.#state = { ...INITIAL_STATE, status: 'completed', completedAt: now() };
    const created = this.#tell('response.created', { ...this.response, status: 'in_progress' });
    if (this.#head.isStored) this.#partition.put(this.#toStored(null));
    return [created, this.#tell('response.completed', this.response)];
  }

  async *#run(
    deltas: AsyncIterable<Compacted | ChatDelta>,
    signal: AbortSignal,
  ): AsyncGenerator<readonly ResponseEvent[], void> {
    try {
      yield [
        this.#tell('response.created', this.response),
        this.#tell('response.in_progress', this.response),
      ];
      let finishReason: string | null = null;
      for await (const delta of deltas) {
        if (!('sealed' in delta)) finishReason ??= delta.finishReason;
        const events = this.#add(delta);
        if (events.length > 0) yield events.map((event) => this.#number(event));
      }
      // Stored before its last event is sent: the client may continue it at once.
      yield await this.#finish(finishReason === 'length');
    } catch (error) {
      if (hasLeft(signal)) throw error;
      this.error = toApiError(error, this.#server.logger);
      this.#end({ status: 'failed', error: this.error.toEnvelope().error });
      yield [this.#tell('response.failed', this.response)];
    } finally {
      if (this.#state.status === 'in_progress') {
        this.#end({ status: 'cancelled' });
        this.#partition.tell(this.id, [this.#tell('response.cancelled', this.response)]);
      }
    }
  }

  #add(delta: Compacted | ChatDelta): EventFields[] {
    if ('sealed' in delta) {
      this.#usage = new UsageCounter(delta.generation, delta.usage);
      return this.#output.begin(delta.sealed);
    }
    this.#usage.add(delta);
    return this.#output.push(delta);
  }

  /** In turns of the event loop: the answer is written as a turn of its conversation, and as it is kept. */
  async #finish(isCutShort: boolean): Promise<ResponseEvent[]> {
    const status = isCutShort ? 'incomplete' : 'completed';
    const events = this.#output.end(status).map((event) => this.#number(event));
    const output = this.#output.items(status);
    await ownTurn();
    this.turn = new Turn(this.#previous, [...this.#input, ...output]);
    await ownTurn();
    const conversation = conversationIdOf(this.body);
    if (conversation !== null) this.#partition.conversations.addAnswer(conversation, this.turn);
    const { usage } = this.#usage;
    this.#end({ status, usage, completedAt: isCutShort ? null : now() });
    await ownTurn();
    return [...events, this.#tell(`response.${status}`, this.response)];
  }

  #end(state: Partial<ResponseState>): void {
    const output = this.#output.items('incomplete');
    this.#state = { ...this.#state, output, ...state };
    this.#partition.update(this.#toStored(null));
  }

  #toStored(cancel: (() => void) | null): StoredResponse {
    const { id, response, turn } = this;
    return { id, response, input: this.#input, turn, cancel, events: this.#events };
  }

  #tell(type: string, response: JsonObject): ResponseEvent {
    return this.#number({ type, response });
  }

  #number(event: EventFields): ResponseEvent {
    const { type, ...fields } = event;
    return { type, sequence_number: this.#nextEventNumber(), ...fields };
  }
}

function outputLogprobs({ tokenizer }: ServedText, body: ResponseBody): AnswerLogprobs | null {
  const numTop = topLogprobsOf(body);
  return numTop === null ? null : { format: new LogprobsFormat(tokenizer, false), numTop };
}

/** Unix time in seconds. */
function now(): number {
  return Math.floor(Date.now() / 1000);
}
