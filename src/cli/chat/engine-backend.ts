import { randomUUID } from 'node:crypto';
import type { ChatImage } from '../../front/chat/chat-images.ts';
import type { ChatRequest } from '../../front/chat/chat-request.ts';
import { prepareChat } from '../../front/chat/prepare-chat.ts';
import type { GenerationRequest } from '../../front/generation/generation.ts';
import type { ChatMessage } from '../../front/templates/chat-message.ts';
import { toSettings } from '../../server/generation/parameters.ts';
import type { FoundModel } from '../../serving/models/find-model.ts';
import type { LoadingOption } from '../../settings/flag-sets.ts';
import type { Options } from '../../settings/options.ts';
import { ownDefinition } from '../../serving/models/own-definition.ts';
import { SlowNotice } from '../../serving/progress/slow-notice.ts';
import { aloneWith } from '../../serving/loading/alone.ts';
import { type LoadedText, TextModelLoader } from '../../serving/loading/text-model-loader.ts';
import { withLlamaCppDefaults } from '../../server/generation/llama-cpp-defaults.ts';
import type { AnswerPiece, ChatBackend, ChatSettings, ChatTurn } from './chat-backend.ts';

/** Answers with an engine of its own, if no server runs. */
export class EngineBackend implements ChatBackend {
  readonly #runtime: LoadedText;
  readonly #settings: ChatSettings;

  private constructor(runtime: LoadedText, settings: ChatSettings) {
    this.#runtime = runtime;
    this.#settings = settings;
  }

  /**
   * @throws UsageError, ModelError, TokenizerError, EngineError
   */
  static async start(
    model: FoundModel,
    options: Options<LoadingOption>,
    settings: ChatSettings,
  ): Promise<EngineBackend> {
    // One chat needs the memory of one sequence.
    const own = { ...options, maxNumSeqs: 1, warmup: 'off' } as const;
    const loader = new TextModelLoader(aloneWith(own));
    const definition = ownDefinition(model);
    const notice = new SlowNotice();
    notice.begin(`opening ${definition.name}`);
    const loading = loader.load(definition, (state) => {
      // A build has a bar of its own.
      if (state === 'building') notice.end();
      else notice.begin(`loading ${definition.name}`);
    });
    return new EngineBackend(await loading.finally(() => notice.end()), settings);
  }

  async *answer(
    messages: readonly ChatTurn[],
    signal: AbortSignal,
  ): AsyncGenerator<AnswerPiece, void> {
    const runtime = this.#runtime;
    const chat = await prepareChat(runtime, this.#toRequest(messages), { client: '', signal });
    const deltas = chat.createDeltas(randomUUID());
    // A chat without tools and formats is one prompt without a grammar.
    const [generation] = chat.generation.prompts as readonly [GenerationRequest];
    for await (const delta of runtime.generator.generate(generation, signal)) {
      for (const part of deltas.push(delta).parts) {
        if (part.type === 'content' || part.type === 'reasoning') yield part;
      }
    }
  }

  close(): Promise<void> {
    return this.#runtime.stop();
  }

  #toRequest(messages: readonly ChatTurn[]): ChatRequest {
    const { seed, maxTokens } = this.#settings;
    const images = messages.flatMap((turn) => (turn.images ?? []).map(toChatImage));
    return {
      messages: messages.map(toMessage),
      ...(images.length === 0 ? {} : { images }),
      tools: [],
      toolChoice: 'none',
      addGenerationPrompt: true,
      continueFinalMessage: false,
      templateVariables: null,
      parallelToolCalls: false,
      responseFormat: null,
      // As a server that runs would answer it, over Ollama's API.
      settings: toSettings({ seed }, withLlamaCppDefaults(this.#runtime.model)),
      badWords: [],
      numChoices: 1,
      limits: {
        maxTokens: null,
        defaultMaxTokens: maxTokens ?? null,
        truncatePromptTokens: null,
        fields: { prompt: 'the conversation', maxTokens: '--max-tokens' },
      },
    };
  }
}

function toMessage({ role, content, images = [] }: ChatTurn): ChatMessage {
  if (images.length === 0) return { role, content };
  return {
    role,
    content: [...images.map(() => ({ type: 'image' })), { type: 'text', text: content }],
  };
}

function toChatImage(file: Uint8Array): ChatImage {
  return { file, detail: 'auto' };
}
