import { z } from 'zod';
import type { ServerClient } from '../server-client.ts';
import type { AnswerPiece, ChatBackend, ChatSettings, ChatTurn } from './chat-backend.ts';

const line = z.object({
  message: z.object({ content: z.string().default(''), thinking: z.string().default('') }),
});

/** A running server answers. */
export class ServerBackend implements ChatBackend {
  readonly #client: ServerClient;
  readonly #model: string;
  readonly #settings: ChatSettings;

  constructor(client: ServerClient, model: string, settings: ChatSettings) {
    this.#client = client;
    this.#model = model;
    this.#settings = settings;
  }

  /** @throws UsageError when the server has no such model, or can't load it */
  async load(): Promise<void> {
    await this.#client.post('api/chat', { model: this.#model });
  }

  async *answer(
    messages: readonly ChatTurn[],
    signal: AbortSignal,
  ): AsyncGenerator<AnswerPiece, void> {
    const { temperature, seed, maxTokens } = this.#settings;
    const options = { temperature, seed, num_predict: maxTokens };
    const body = { model: this.#model, messages, options };
    for await (const value of this.#client.lines('api/chat', body, signal)) {
      const { content, thinking } = line.parse(value).message;
      if (thinking !== '') yield { type: 'reasoning', text: thinking };
      if (content !== '') yield { type: 'content', text: content };
    }
  }

  async close(): Promise<void> {}
}
