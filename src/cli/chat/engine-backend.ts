import { randomUUID } from 'node:crypto';
import { Command } from 'commander';
import type { ChatRequest } from '../../front/chat/chat-request.ts';
import { prepareChat } from '../../front/chat/prepare-chat.ts';
import type { GenerationRequest } from '../../front/generation/generation.ts';
import { serviceClasses } from '../../front/service-classes/service-class.ts';
import { createLogger } from '../../observability/logger.ts';
import { MetricsHub } from '../../observability/metrics-hub.ts';
import { SloTracker } from '../../observability/slo/slo-tracker.ts';
import { toSettings } from '../../server/generation/parameters.ts';
import { InferenceStatistics } from '../../server/generation/inference-statistics.ts';
import { nameOfModel } from '../model-source.ts';
import { addOptions, ALL_OPTIONS, readOptions } from '../options.ts';
import { type LoadedText, TextModelLoader } from '../text-model-loader.ts';
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
   * Takes flags from the environment, and otherwise `serve`'s defaults.
   * @param model what `--model` takes
   * @throws UsageError, ModelError, TokenizerError, EngineError
   */
  static async start(model: string, settings: ChatSettings): Promise<EngineBackend> {
    const command = addOptions(new Command(), ALL_OPTIONS).parse([], { from: 'user' });
    const loader = new TextModelLoader({
      // One chat needs the memory of one sequence.
      options: { ...readOptions(command), maxNumSeqs: 1, warmup: 'off' },
      numModels: 1,
      logger: createLogger('warn'),
      metrics: new MetricsHub({ withProcess: false, models: () => [] }),
      statistics: new InferenceStatistics(),
      targets: new SloTracker([]),
      classOf: () => serviceClasses().usual,
      isShared: () => false,
      kvEvents: null,
    });
    const definition = {
      name: nameOfModel(model),
      version: '1',
      source: model,
      flags: {},
      instances: 1,
      preload: true,
      keepAliveMs: null,
      fingerprint: '',
      problem: null,
    };
    return new EngineBackend(await loader.load(definition, () => {}), settings);
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
    const { temperature, seed, maxTokens } = this.#settings;
    return {
      messages: messages.map((turn) => ({ ...turn })),
      tools: [],
      toolChoice: 'none',
      addGenerationPrompt: true,
      continueFinalMessage: false,
      templateVariables: null,
      parallelToolCalls: false,
      responseFormat: null,
      settings: toSettings({ temperature, seed }, this.#runtime.model),
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
