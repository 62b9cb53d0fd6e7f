/** Runs one request from prompt tokens to text: admission, engine, detokenizer, stop strings. */
import {
  type Admission,
  QueueFullError,
  type Release,
  ShuttingDownError,
} from '../queue/admission.ts';
import { CompletionAssembler } from './completion-assembler.ts';
import { type Engine, EngineError } from '../engine-process/engine-contract.ts';
import type { GenerationOutcome, ObserveGeneration } from './generation-observer.ts';
import type { GenerationDelta, GenerationRequest, Generator } from './generation.ts';
import type { TextTokenizer } from '../text/tokenizer.ts';

export interface TextGeneratorOptions {
  readonly engine: Engine;
  readonly tokenizer: TextTokenizer;
  readonly admission: Admission;
  /** Tokens that end a text unless the request ignores them. */
  readonly eosTokenIds: readonly number[];
  readonly observe?: ObserveGeneration;
}

export class TextGenerator implements Generator {
  readonly #options: TextGeneratorOptions;

  constructor(options: TextGeneratorOptions) {
    this.#options = options;
  }

  /**
   * Nothing happens before the first `next()`. When the last delta comes out everything is freed
   * already, so a consumer may stop there without a further `next()`.
   */
  async *generate(
    request: GenerationRequest,
    signal: AbortSignal,
    mayStart?: Promise<void>,
  ): AsyncGenerator<GenerationDelta, void> {
    const { admission, engine, tokenizer, observe } = this.#options;
    const observer = observe?.(request);
    observer?.queued(performance.now());
    let outcome: GenerationOutcome = 'abort';
    let release: Release | undefined;
    let last: GenerationDelta | undefined;
    let detokenizeMs = 0;
    try {
      const assembler = new CompletionAssembler(tokenizer, request);
      release = await admission.acquire(signal, {
        priority: request.priority ?? 0,
        client: request.client ?? '',
        numPromptTokens: request.promptTokenIds.length,
        maxTokens: request.maxTokens,
        isNextPart: request.isNextPart ?? false,
      });
      observer?.admitted(performance.now());
      if (mayStart) await mayStart;
      // Leaving this loop early, by a stop string or by the consumer, frees the sequence's slot.
      for await (const batch of engine.generate(this.#toEngineRequest(request), signal)) {
        const arrivedAt = performance.now();
        const delta = assembler.push(batch);
        detokenizeMs += performance.now() - arrivedAt;
        if (batch.tokenIds.length > 0) observer?.tokens(batch.tokenIds.length, arrivedAt);
        if (delta.finishReason !== null) {
          last = delta;
          outcome = delta.finishReason;
          break;
        }
        yield delta;
      }
      if (last === undefined) throw new EngineError('the engine ended without a finish reason');
    } catch (error) {
      outcome = signal.aborted ? 'abort' : outcomeOf(error);
      throw error;
    } finally {
      release?.();
      observer?.finished(outcome, performance.now(), detokenizeMs);
    }
    yield last;
  }

  #toEngineRequest(request: GenerationRequest): Parameters<Engine['generate']>[0] {
    const { grammar = null } = request;
    // Only this way can a grammar's end be detected.
    const ignoresEos = request.ignoreEos && grammar === null;
    const eosTokenIds = ignoresEos ? [] : this.#options.eosTokenIds;
    return {
      promptTokenIds: request.promptTokenIds,
      outputTokenIds: new Int32Array(),
      maxTokens: request.maxTokens,
      minTokens: request.minTokens,
      priority: request.priority ?? 0,
      arrivalMs: performance.now(),
      cacheSalt: request.cacheSalt ?? '',
      stopTokenIds: [...new Set([...eosTokenIds, ...request.stopTokenIds])],
      sampling: request.sampling,
      grammar,
      badWords: request.badWords,
      logprobs: request.logprobs,
      promptLogprobs: request.promptLogprobs,
      ...(request.readout === undefined ? {} : { readout: request.readout }),
    };
  }
}

function outcomeOf(error: unknown): GenerationOutcome {
  const isRejected = error instanceof QueueFullError || error instanceof ShuttingDownError;
  return isRejected ? 'rejected' : 'error';
}
