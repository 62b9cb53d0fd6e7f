/** Log-probabilities in the forms of the APIs that have them. */
import { TextDecoder } from 'node:util';
import type { TokenLogprob, TokenValue } from '../../front/generation/token-logprob.ts';
import type { TextTokenizer } from '../../front/text/tokenizer.ts';
import { LazyList } from '../http/lazy-list.ts';
import type { JsonObject } from '../json-object.ts';

/** JSON has no infinity; the same stand-in as vLLM's. */
const LOWEST_LOGPROB = -9999;

/** The `logprobs` of a completion's choice. */
export interface CompletionLogprobs {
  readonly text_offset: LazyList<number>;
  readonly token_logprobs: LazyList<number | null>;
  readonly tokens: LazyList<string>;
  readonly top_logprobs: LazyList<Readonly<Record<string, number>> | null>;
}

export interface ChatToken {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly number[];
}

export interface ChatTokenLogprob extends ChatToken {
  readonly top_logprobs: readonly ChatToken[];
}

interface TokenText {
  readonly text: string;
  readonly bytes: Uint8Array;
}

/** Spells tokens by their text, or by their id for clients that need them unambiguous. */
export class LogprobsFormat {
  readonly #pieces: TextTokenizer['pieces'];
  readonly #asTokenIds: boolean;
  readonly #utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

  constructor({ pieces }: Pick<TextTokenizer, 'pieces'>, asTokenIds: boolean) {
    this.#pieces = pieces;
    this.#asTokenIds = asTokenIds;
  }

  /**
   * Each token with the `numTop` likeliest, and itself where it is none of them.
   * @param offset characters of the choice's text before that of the tokens
   */
  completion(entries: readonly TokenLogprob[], numTop: number, offset: number): CompletionLogprobs {
    return {
      text_offset: LazyList.from(entries, ({ textOffset }) => offset + textOffset),
      token_logprobs: LazyList.from(entries, ({ logprob }) => finite(logprob)),
      tokens: LazyList.from(entries, ({ tokenId }) => this.#spell(tokenId).text),
      top_logprobs: LazyList.from(entries, (entry) => {
        const byText = new Map<string, number>();
        for (const { tokenId, logprob } of [entry, ...entry.top.first(numTop)]) {
          const { text } = this.#spell(tokenId);
          // If several tokens have the same text, the first is the likelier, or the entry's own.
          if (!byText.has(text)) byText.set(text, finite(logprob));
        }
        return Object.fromEntries(byText);
      }),
    };
  }

  /** The prompt of an echo: its first token follows nothing, and has no log-probability. */
  echo(first: number, entries: readonly TokenLogprob[], numTop: number): CompletionLogprobs {
    const rest = this.completion(entries, numTop, 0);
    return {
      text_offset: LazyList.concat([0], rest.text_offset),
      token_logprobs: LazyList.concat([null], rest.token_logprobs),
      tokens: LazyList.concat([this.#spell(first).text], rest.tokens),
      top_logprobs: LazyList.concat([null], rest.top_logprobs),
    };
  }

  /** The tokens of a chat's answer. */
  chat(entries: readonly TokenLogprob[], numTop: number): LazyList<ChatTokenLogprob> {
    return LazyList.from(entries, (entry) => ({
      ...this.#chatToken(entry),
      top_logprobs: entry.top.first(numTop).map((token) => this.#chatToken(token)),
    }));
  }

  /** vLLM's `prompt_logprobs`: by token id, null for the first token. */
  prompt(entries: readonly TokenLogprob[], numTop: number): LazyList<JsonObject | null> {
    const tokens = LazyList.from(entries, (entry) => this.#promptToken(entry, numTop));
    return LazyList.concat<JsonObject | null>([null], tokens);
  }

  #promptToken({ tokenId, logprob, rank, top }: TokenLogprob, numTop: number): JsonObject {
    const byId = new Map(
      top.first(numTop).map((token, index) => [token.tokenId, this.#ranked(token, index + 1)]),
    );
    byId.set(tokenId, this.#ranked({ tokenId, logprob }, rank));
    return Object.fromEntries(byId);
  }

  #ranked({ tokenId, logprob }: TokenValue, rank: number): JsonObject {
    return { logprob: finite(logprob), rank, decoded_token: this.#textOf(tokenId).text };
  }

  #chatToken({ tokenId, logprob }: TokenValue): ChatToken {
    const { text, bytes } = this.#spell(tokenId);
    return { token: text, logprob: finite(logprob), bytes: [...bytes] };
  }

  #spell(tokenId: number): TokenText {
    const token = this.#textOf(tokenId);
    return this.#asTokenIds ? { ...token, text: `token_id:${tokenId}` } : token;
  }

  #textOf(tokenId: number): TokenText {
    const piece = this.#pieces.get(tokenId) ?? '';
    return typeof piece === 'string'
      ? { text: piece, bytes: Buffer.from(piece) }
      : { text: this.#utf8.decode(piece), bytes: piece };
  }
}

/** Form of an answer's log-probabilities. */
export interface AnswerLogprobs {
  readonly format: LogprobsFormat;
  /** Likeliest tokens to report for each position. */
  readonly numTop: number;
}

function finite(logprob: number): number {
  return logprob > LOWEST_LOGPROB ? logprob : LOWEST_LOGPROB;
}

/** One after the other. */
export function joinLogprobs(parts: readonly CompletionLogprobs[]): CompletionLogprobs {
  return {
    text_offset: LazyList.concat(...parts.map((part) => part.text_offset)),
    token_logprobs: LazyList.concat(...parts.map((part) => part.token_logprobs)),
    tokens: LazyList.concat(...parts.map((part) => part.tokens)),
    top_logprobs: LazyList.concat(...parts.map((part) => part.top_logprobs)),
  };
}
