/** /v1/completions, token by token, and the tokens of a text. */
import { readEvents } from './event-stream.ts';
import { beginWaiting } from './pending.ts';
import { request, requestJson } from './request.ts';

export interface CompletionRequest {
  readonly model: string | null;
  readonly prompt: string;
  readonly max_tokens: number;
  readonly temperature?: number;
  readonly top_p?: number;
  readonly seed?: number;
  readonly stop?: readonly string[];
  readonly echo?: boolean;
  /** Likely alternatives to each token. */
  readonly logprobs: number;
  readonly add_special_tokens?: boolean;
}

/** A token of a text, and what else it could have been. */
export interface TokenChoice {
  /** Where it begins in the text of the answer. */
  readonly offset: number;
  readonly text: string;
  /** Null for the first of a text. */
  readonly logprob: number | null;
  /** The likeliest first. */
  readonly alternatives: readonly (readonly [text: string, logprob: number])[];
}

export interface CompletionPiece {
  readonly text: string;
  readonly tokens: readonly TokenChoice[];
  readonly finishReason: string | null;
  readonly stopReason: string | number | null;
  readonly usage: Usage | null;
}

export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly prompt_tokens_details?: { readonly cached_tokens: number } | null;
}

interface Logprobs {
  readonly text_offset: readonly number[];
  readonly token_logprobs: readonly (number | null)[];
  readonly tokens: readonly string[];
  readonly top_logprobs: readonly (Readonly<Record<string, number>> | null)[];
}

interface Chunk {
  readonly choices: readonly {
    readonly text: string;
    readonly finish_reason: string | null;
    readonly stop_reason?: string | number | null;
    readonly logprobs?: Logprobs | null;
  }[];
  readonly usage?: Usage | null;
}

/** @throws ServerError, and the signal's reason */
export async function* complete(
  body: CompletionRequest,
  signal: AbortSignal,
): AsyncGenerator<CompletionPiece> {
  const { model, ...rest } = body;
  const waiting = beginWaiting(model);
  try {
    const response = await request('/v1/completions', {
      body: {
        ...(model === null ? {} : { model }),
        ...rest,
        stream: true,
        stream_options: { include_usage: true },
      },
      headers: { 'x-request-id': waiting.id },
      signal,
    });
    for await (const chunk of readEvents<Chunk>(response)) {
      waiting.end();
      yield toPiece(chunk);
    }
  } finally {
    waiting.end();
  }
}

function toPiece({ choices: [choice], usage = null }: Chunk): CompletionPiece {
  return {
    text: choice?.text ?? '',
    tokens: choice?.logprobs ? toTokens(choice.logprobs) : [],
    finishReason: choice?.finish_reason ?? null,
    stopReason: choice?.stop_reason ?? null,
    usage,
  };
}

function toTokens({ text_offset: offsets, ...logprobs }: Logprobs): TokenChoice[] {
  return offsets.map((offset, index) => ({
    offset,
    text: logprobs.tokens[index] ?? '',
    logprob: logprobs.token_logprobs[index] ?? null,
    alternatives: Object.entries(logprobs.top_logprobs[index] ?? {}).sort(([, a], [, b]) => b - a),
  }));
}

export interface Tokenized {
  readonly count: number;
  readonly max_model_len: number;
  readonly tokens: readonly number[];
  /** As the vocabulary spells them. */
  readonly token_strs: readonly string[] | null;
  readonly token_bytes?: readonly (readonly number[])[];
}

export function tokenize(
  body: {
    readonly model: string | null;
    readonly prompt: string;
    readonly spells: boolean;
    readonly addSpecial: boolean;
  },
  signal: AbortSignal,
): Promise<Tokenized> {
  const { model, prompt, spells, addSpecial } = body;
  return requestJson('/tokenize', {
    body: {
      ...(model === null ? {} : { model }),
      prompt,
      add_special_tokens: addSpecial,
      return_token_strs: spells,
      return_token_bytes: spells,
    },
    signal,
  });
}
