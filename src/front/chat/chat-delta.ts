/** Deltas of a chat's answer, for all APIs. */
import type { TokenDelta } from '../generation/generation.ts';

/** Part of an answer that can be streamed. */
export type StreamedPart =
  | { readonly type: 'content' | 'reasoning'; readonly text: string }
  /** A tool call begins; its arguments, JSON text, follow in pieces. */
  | { readonly type: 'call'; readonly index: number; readonly id: string; readonly name: string }
  | { readonly type: 'arguments'; readonly index: number; readonly text: string };

export type ChatPart =
  | StreamedPart
  /**
   * The last call is none after all. Its text up to here is content; what follows
   * comes as content. Who has shown the call already can't take it back.
   */
  | { readonly type: 'broken'; readonly text: string }
  /** The limit of tokens ended the answer within the last call, of which `text` is all, markup included. */
  | { readonly type: 'cut'; readonly text: string };

/** Whether a part can be streamed: a tool call that was sent can't be taken back. */
export function isStreamed(part: ChatPart): part is StreamedPart {
  return part.type !== 'broken' && part.type !== 'cut';
}

/** `tool_calls`: the text ended by itself, and contains a complete call. */
export type ChatFinishReason = 'stop' | 'length' | 'tool_calls';

/** One piece of one choice. */
export interface ChatDelta extends TokenDelta {
  readonly choice: number;
  /** The assistant's message begins with it. */
  readonly isFirst: boolean;
  /** In the order of the text; none while it is not decided what the text is. */
  readonly parts: readonly ChatPart[];
  readonly finishReason: ChatFinishReason | null;
  readonly numReasoningTokens: number | null;
}
