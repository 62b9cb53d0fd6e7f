/** The answers of /api/chat and /api/generate: lines that they grow by, or one object. */
import type { ChatDelta, ChatPart } from '../../front/chat/chat-delta.ts';
import type { FanOutRequest } from '../../front/generation/fan-out.ts';
import { UsageCounter } from '../../front/generation/token-usage.ts';
import { parseBoundedJson } from '../../front/json-bounds.ts';
import { LogprobsBound } from '../generation/gather.ts';
import type { AnswerLogprobs, ChatTokenLogprob } from '../generation/logprobs-format.ts';
import type { JsonObject } from '../json-object.ts';

/** Which of the two. */
export type AnswerKind = 'chat' | 'generate';

/** In milliseconds. */
export interface AnswerTimes {
  /** Since the request came. */
  readonly totalMs: number;
  /** Until the model was there. */
  readonly loadMs: number;
  readonly prefillMs: number;
  readonly decodeMs: number;
}

interface Call {
  readonly id: string;
  readonly name: string;
  arguments: string;
}

interface Piece {
  content: string;
  thinking: string;
  readonly calls: Call[];
}

function emptyPiece(): Piece {
  return { content: '', thinking: '', calls: [] };
}

/**
 * Answer in Ollama's form. A call is sent whole, with its arguments as an object; one that was cut
 * short is text.
 */
export class GrowingAnswer {
  readonly #kind: AnswerKind;
  readonly #model: string;
  readonly #usage: UsageCounter;
  /** Content of an answer in one piece. */
  readonly #whole = emptyPiece();
  /** May yet turn out to be none. */
  #open: Call | null = null;
  #numCalls = 0;
  #finishReason: string | null = null;
  readonly #logprobs: AnswerLogprobs | null;
  readonly #logprobsBound = new LogprobsBound();
  /** Log-probabilities of tokens that no line has reported yet. */
  #heldLogprobs: ChatTokenLogprob[] = [];

  /** @param model as the client called it */
  constructor(
    kind: AnswerKind,
    model: string,
    generation: FanOutRequest,
    logprobs: AnswerLogprobs | null,
  ) {
    this.#kind = kind;
    this.#model = model;
    this.#usage = new UsageCounter(generation);
    this.#logprobs = logprobs;
  }

  /** The lines that a delta comes to. */
  push(delta: ChatDelta): JsonObject[] {
    this.#add(delta);
    const piece = emptyPiece();
    this.#tellAll(delta, piece);
    if (piece.content === '' && piece.thinking === '' && piece.calls.length === 0) return [];
    return [{ ...this.#head(), ...this.#body(piece), ...this.#toLogprobs(), done: false }];
  }

  /** The last line. */
  end(times: AnswerTimes): JsonObject {
    const body = this.#body(emptyPiece());
    return { ...this.#head(), ...body, ...this.#toLogprobs(), ...this.#facts(times) };
  }

  /** For an answer in one piece, in place of `push`. @throws ApiError 400 for too many log-probabilities */
  add(delta: ChatDelta): void {
    this.#logprobsBound.add(delta);
    this.#add(delta);
    this.#tellAll(delta, this.#whole);
  }

  #add(delta: ChatDelta): void {
    this.#usage.add(delta);
    this.#finishReason ??= delta.finishReason;
    const { format, numTop } = this.#logprobs ?? {};
    const shown = (delta.logprobs ?? []).filter(({ isShown }) => isShown);
    if (numTop !== undefined) this.#heldLogprobs.push(...(format?.chat(shown, numTop) ?? []));
  }

  #toLogprobs(): JsonObject {
    const logprobs = this.#heldLogprobs;
    this.#heldLogprobs = [];
    return logprobs.length === 0 ? {} : { logprobs };
  }

  /** The answer in one piece. */
  toJson(times: AnswerTimes): JsonObject {
    const body = this.#body(this.#whole);
    return { ...this.#head(), ...body, ...this.#toLogprobs(), ...this.#facts(times) };
  }

  #tellAll({ parts, finishReason }: ChatDelta, piece: Piece): void {
    for (const part of parts) this.#tell(part, piece);
    if (finishReason !== null) this.#close(piece);
  }

  #tell(part: ChatPart, piece: Piece): void {
    switch (part.type) {
      case 'content':
        piece.content += part.text;
        break;
      case 'reasoning':
        piece.thinking += part.text;
        break;
      case 'call':
        this.#close(piece);
        this.#open = { id: part.id, name: part.name, arguments: '' };
        break;
      case 'arguments':
        if (this.#open !== null) this.#open.arguments += part.text;
        break;
      case 'broken':
      case 'cut':
        this.#open = null;
        piece.content += part.text;
        break;
    }
  }

  #close(piece: Piece): void {
    if (this.#open !== null) piece.calls.push(this.#open);
    this.#open = null;
  }

  #head(): JsonObject {
    return { model: this.#model, created_at: new Date().toISOString() };
  }

  #body({ content, thinking, calls }: Piece): JsonObject {
    const thought = thinking === '' ? {} : { thinking };
    if (this.#kind === 'generate') return { response: content, ...thought };
    const called = calls.map(({ id, name, arguments: args }) => ({
      id,
      function: { index: this.#numCalls++, name, arguments: toArguments(args) },
    }));
    const toolCalls = called.length === 0 ? {} : { tool_calls: called };
    return { message: { role: 'assistant', content, ...thought, ...toolCalls } };
  }

  #facts({ totalMs, loadMs, prefillMs, decodeMs }: AnswerTimes): JsonObject {
    const { numPromptTokens, numOutputTokens } = this.#usage.usage;
    return {
      done: true,
      done_reason: this.#finishReason === 'length' ? 'length' : 'stop',
      total_duration: inNanoseconds(totalMs),
      load_duration: inNanoseconds(loadMs),
      prompt_eval_count: numPromptTokens,
      prompt_eval_duration: inNanoseconds(prefillMs),
      eval_count: numOutputTokens,
      eval_duration: inNanoseconds(decodeMs),
    };
  }
}

/** The answer to a request without a question. @param reason `load` or `unload` */
export function emptyAnswer(kind: AnswerKind, model: string, reason: string): JsonObject {
  const body = kind === 'chat' ? { message: { role: 'assistant', content: '' } } : { response: '' };
  return {
    model,
    created_at: new Date().toISOString(),
    ...body,
    done: true,
    done_reason: reason,
  };
}

/** A call that was cut short has no object to show. */
function toArguments(json: string): unknown {
  try {
    return parseBoundedJson(json);
  } catch {
    return {};
  }
}

function inNanoseconds(ms: number): number {
  return Math.max(0, Math.round(ms * 1e6));
}
