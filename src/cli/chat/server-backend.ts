import { z } from 'zod';
import type { GenerationDefaults } from '../../front/text/generation-config.ts';
import type { ServerClient } from '../server/server-client.ts';
import type { AnswerPiece, ChatBackend, ChatSettings, ChatTurn } from './chat-backend.ts';

const line = z.object({
  message: z.object({ content: z.string().default(''), thinking: z.string().default('') }),
});

/** Settings of the chat; the server's own apply where one is left out. */
interface ServerSettings extends ChatSettings {
  readonly sampling: GenerationDefaults;
}

function toOllamaMessage({ images = [], ...turn }: ChatTurn): object {
  if (images.length === 0) return turn;
  return { ...turn, images: images.map((file) => Buffer.from(file).toString('base64')) };
}

/** A running server answers. */
export class ServerBackend implements ChatBackend {
  readonly #client: ServerClient;
  readonly #model: string;
  readonly #settings: ServerSettings;

  constructor(client: ServerClient, model: string, settings: ServerSettings) {
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
    const { seed, maxTokens, sampling } = this.#settings;
    const { temperature, topP, topK, minP, repetitionPenalty } = sampling;
    const options = {
      temperature,
      top_p: topP,
      top_k: topK,
      min_p: minP,
      repeat_penalty: repetitionPenalty,
      seed,
      num_predict: maxTokens,
    };
    const body = { model: this.#model, messages: messages.map(toOllamaMessage), options };
    for await (const { message } of this.#client.lines('api/chat', body, line, signal)) {
      const { content, thinking } = message;
      if (thinking !== '') yield { type: 'reasoning', text: thinking };
      if (content !== '') yield { type: 'content', text: content };
    }
  }

  async close(): Promise<void> {}
}
