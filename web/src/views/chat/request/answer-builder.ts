/** From the chunks of a streamed answer to messages, one for each choice. */
import type { AnswerStats, Message, Token, TokenChoice, ToolCall } from '../model/types.ts';

export interface ChatChunk {
  readonly model?: string;
  readonly choices: readonly {
    readonly index: number;
    readonly delta: {
      readonly content?: string | null;
      readonly reasoning_content?: string | null;
      readonly tool_calls?: readonly {
        readonly index: number;
        readonly id?: string;
        readonly function?: { readonly name?: string; readonly arguments?: string };
      }[];
    };
    readonly logprobs?: {
      readonly content: readonly (TokenChoice & { readonly top_logprobs: TokenChoice[] })[] | null;
    } | null;
    readonly finish_reason: string | null;
  }[];
  readonly usage?: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly prompt_tokens_details?: {
      readonly cached_tokens?: number;
      readonly image_tokens?: number;
    } | null;
  } | null;
}

/** Parts of one choice that have come. */
interface Written {
  content: string;
  reasoning: string;
  readonly toolCalls: ToolCall[];
  readonly tokens: Token[];
  finishReason: string | null;
  thinkingMs: number | null;
}

export class AnswerBuilder {
  readonly #begun = performance.now();
  readonly #given: string;
  readonly #written: Written[];
  #firstTokenMs: number | null = null;
  /** Milliseconds since the first token for which there was no server. */
  #gapMs = 0;
  #model: string | undefined;
  #usage: ChatChunk['usage'];

  /** @param given what each choice begins with */
  constructor(numChoices: number, given: string) {
    this.#given = given;
    this.#written = Array.from({ length: numChoices }, () => ({
      content: '',
      reasoning: '',
      toolCalls: [],
      tokens: [],
      finishReason: null,
      thinkingMs: null,
    }));
  }

  /** Whether there is a token. */
  get hasBegun(): boolean {
    return this.#firstTokenMs !== null;
  }

  /** The stream was interrupted for so long: that says nothing of the model's speed. */
  addGap(ms: number): void {
    this.#gapMs += ms;
  }

  add({ choices, model, usage }: ChatChunk): void {
    this.#model = model ?? this.#model;
    this.#usage = usage ?? this.#usage;
    const elapsedMs = performance.now() - this.#begun;
    for (const { index, delta, logprobs, finish_reason } of choices) {
      const written = this.#written[index];
      if (written === undefined) continue;
      const { content, reasoning_content: thought, tool_calls: calls = [] } = delta;
      if (content || thought || calls.length > 0) this.#firstTokenMs ??= elapsedMs;
      if (thought) {
        written.reasoning += thought;
        written.thinkingMs = elapsedMs - (this.#firstTokenMs ?? 0);
      }
      if (content) written.content += content;
      for (const call of calls) addCall(written.toolCalls, call);
      for (const token of logprobs?.content ?? []) written.tokens.push(toToken(token));
      written.finishReason = finish_reason ?? written.finishReason;
    }
  }

  /** Fields of a choice's message so far. */
  fields(index: number): Partial<Message> {
    const written = this.#written[index];
    if (written === undefined) return {};
    const { content, reasoning, toolCalls, tokens, finishReason, thinkingMs } = written;
    return {
      content: this.#given + content,
      ...(this.#given === '' ? {} : { givenLength: this.#given.length }),
      ...(this.#model === undefined ? {} : { model: this.#model }),
      ...(reasoning === '' ? {} : { reasoning }),
      ...(toolCalls.length === 0 ? {} : { toolCalls: [...toolCalls] }),
      ...(tokens.length === 0 ? {} : { tokens: [...tokens] }),
      finishReason,
      stats: this.#stats(thinkingMs),
    };
  }

  #stats(thinkingMs: number | null): AnswerStats {
    const usage = this.#usage;
    return {
      promptTokens: usage?.prompt_tokens ?? null,
      cachedTokens: usage?.prompt_tokens_details?.cached_tokens ?? null,
      imageTokens: usage?.prompt_tokens_details?.image_tokens ?? 0,
      outputTokens: usage?.completion_tokens ?? null,
      numAnswers: this.#written.length,
      firstTokenMs: this.#firstTokenMs,
      totalMs: performance.now() - this.#begun - this.#gapMs,
      thinkingMs,
    };
  }
}

type CallDelta = NonNullable<ChatChunk['choices'][number]['delta']['tool_calls']>[number];

function addCall(calls: ToolCall[], { index, id, function: call }: CallDelta): void {
  const before = calls[index] ?? { id: id ?? `call-${index}`, name: '', arguments: '' };
  calls[index] = {
    id: id ?? before.id,
    name: before.name + (call?.name ?? ''),
    arguments: before.arguments + (call?.arguments ?? ''),
  };
}

function toToken({
  top_logprobs,
  ...token
}: TokenChoice & { readonly top_logprobs: TokenChoice[] }): Token {
  return { ...token, top: top_logprobs };
}
