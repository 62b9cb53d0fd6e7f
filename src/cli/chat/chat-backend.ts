/** Backend that answers a chat in the terminal. */
export interface ChatTurn {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
  /** Files of images that it is about; none if left out. */
  readonly images?: readonly Uint8Array[];
}

export interface AnswerPiece {
  readonly type: 'content' | 'reasoning';
  readonly text: string;
}

export interface ChatBackend {
  /**
   * The answer to a conversation, as it grows.
   * @throws an error whose message is for the user; the signal's reason on abort
   */
  answer(messages: readonly ChatTurn[], signal: AbortSignal): AsyncIterable<AnswerPiece>;
  close(): Promise<void>;
}

/** Settings of a chat for each answer. */
export interface ChatSettings {
  readonly seed?: number | undefined;
  readonly maxTokens?: number | undefined;
}
