/** Runs one request from prompt tokens to text: admission, engine, detokenizer, stop strings. */
import type { Admission, Release } from '../queue/admission.ts';
import { searchBeams } from './beam-generation.ts';
import { CompletionAssembler } from './completion-assembler.ts';
import { outcomeOfAbort } from '../deadline.ts';
import { type Engine, type TokenBatch } from '../engine-process/engine-contract.ts';
import { EngineError } from '../engine-process/errors.ts';
import { InvalidRequestError } from '../invalid-request.ts';
import { type TextRules, toEngineRequest } from './engine-request.ts';
import {
  type GenerationObserver,
  type GenerationOutcome,
  type ObserveGeneration,
  outcomeOf,
} from './generation-observer.ts';
import type {
  GenerationDelta,
  GenerationDeltas,
  GenerationRequest,
  Generator,
} from './generation.ts';
import type { EmbeddedImages, ImageEmbedder, PromptImage } from './prompt-image.ts';
import { HEARS_ALONE, type PromptSpeech, type SpeechEmbedder } from './prompt-speech.ts';
import { knownBatch, splitBatch } from './resumption.ts';
import { ShiftedBatches } from './shifted-batches.ts';
import type { TextTokenizer } from '../text/tokenizer.ts';

export interface TextGeneratorOptions extends TextRules {
  readonly engine: Engine;
  readonly tokenizer: TextTokenizer;
  readonly admission: Admission;
  /** Embeds images, for a model that sees; null or left out for others. */
  readonly vision?: ImageEmbedder | null;
  /** Embeds speech, for a model that hears; null or left out for others. */
  readonly hearing?: SpeechEmbedder | null;
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
  generate(
    request: GenerationRequest,
    signal: AbortSignal,
    mayStart?: Promise<void>,
  ): GenerationDeltas {
    if (request.beams !== undefined && !this.#options.hearing) {
      return searchBeams(this.#options, request, request.beams, signal);
    }
    return new TextGeneration(this.#options, request, signal, mayStart);
  }
}

const NO_TOKENS: TokenBatch = { tokenIds: [], finishReason: null };

/** One request. Written by hand, since a token then costs one promise, where a generator costs several. */
class TextGeneration implements GenerationDeltas {
  readonly #options: TextGeneratorOptions;
  readonly #request: GenerationRequest;
  readonly #signal: AbortSignal;
  readonly #mayStart: Promise<void> | undefined;
  #observer: GenerationObserver | null | undefined;
  #assembler: CompletionAssembler | undefined;
  #release: Release | undefined;
  #seen: EmbeddedImages | undefined;
  #batches: AsyncIterator<TokenBatch> | undefined;
  #detokenizeMs = 0;
  /** Batches that are known before the engine tells more. */
  readonly #known: TokenBatch[] = [];
  #numTokens = 0;
  #hasStarted = false;
  #isOver = false;
  /** Its signal ended it, be it that nobody was reading. */
  #wasAborted = false;

  constructor(
    options: TextGeneratorOptions,
    request: GenerationRequest,
    signal: AbortSignal,
    mayStart: Promise<void> | undefined,
  ) {
    this.#options = options;
    this.#request = request;
    this.#signal = signal;
    this.#mayStart = mayStart;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<GenerationDelta, void>> {
    if (this.#isOver) return this.#nothingMore();
    try {
      if (!this.#hasStarted) await this.#start();
      const batch = this.#known.shift() ?? (await this.#nextBatch());
      // It was returned meanwhile, or ended.
      if (this.#isOver) return this.#nothingMore();
      const arrivedAt = performance.now();
      const value = this.#toDelta(batch);
      this.#detokenizeMs += performance.now() - arrivedAt;
      // By a stop string the engine learns of it only here.
      if (value.finishReason !== null) await this.#end(value.finishReason);
      return { done: false, value };
    } catch (error) {
      await this.#end(this.#signal.aborted ? outcomeOfAbort(this.#signal) : outcomeOf(error));
      throw error;
    }
  }

  async return(): Promise<IteratorResult<GenerationDelta, void>> {
    await this.#end(outcomeOfAbort(this.#signal));
    return { done: true, value: undefined };
  }

  /** @throws the signal's reason where that ended it */
  #nothingMore(): IteratorReturnResult<void> {
    if (this.#wasAborted) throw this.#signal.reason;
    return { done: true, value: undefined };
  }

  async #nextBatch(): Promise<TokenBatch> {
    const result = await this.#batches?.next();
    if (this.#isOver) return NO_TOKENS;
    if (result === undefined || result.done === true) {
      throw new EngineError('the engine ended without a finish reason');
    }
    const { tokenIds } = result.value;
    if (tokenIds.length > 0) this.#observer?.tokens(tokenIds.length, performance.now());
    return result.value;
  }

  #toDelta(batch: TokenBatch): GenerationDelta {
    if (this.#assembler === undefined) throw new Error('the generation has not begun');
    const { resumed } = this.#request;
    if (resumed === undefined) return this.#assembler.push(batch);
    const [first, ...rest] = splitBatch(batch, resumed.numSeen - this.#numTokens);
    this.#known.unshift(...rest);
    this.#numTokens += first.tokenIds.length;
    return { ...this.#assembler.push(first), isSeen: this.#numTokens <= resumed.numSeen };
  }

  async #start(): Promise<void> {
    this.#hasStarted = true;
    this.#signal.addEventListener('abort', this.#abort, { once: true });
    const { admission, engine, tokenizer, observe } = this.#options;
    const request = this.#request;
    const { priority = 0, client = '', serviceClass } = request;
    this.#observer = observe?.(request);
    this.#observer?.queued(performance.now());
    this.#assembler = new CompletionAssembler(tokenizer, request);
    // Before it takes a place, which others would wait for meanwhile.
    if (request.images !== undefined) await this.#look(request.images);
    if (this.#options.hearing || request.speech !== undefined) await this.#hear(request.speech);
    this.#release = await admission.acquire(this.#signal, {
      priority,
      client,
      ...(serviceClass && { tier: serviceClass.priority, share: serviceClass.share }),
      numPromptTokens: request.promptTokenIds.length,
      maxTokens: request.maxTokens,
      isNextPart: request.isNextPart ?? false,
    });
    if (!this.#isOver) this.#observer?.admitted(performance.now());
    if (this.#mayStart) await this.#mayStart;
    if (this.#isOver) {
      this.#release();
      return;
    }
    const wanted = toEngineRequest(request, this.#options, this.#seen);
    const known = knownBatch(wanted.outputTokenIds, wanted);
    if (known !== null) this.#known.push(known);
    // A complete answer leaves nothing to compute.
    if ((known?.finishReason ?? null) !== null) return;
    this.#batches = request.shift
      ? new ShiftedBatches(engine, wanted, request.shift, this.#signal)
      : engine.generate(wanted, this.#signal)[Symbol.asyncIterator]();
  }

  /** Has the embeddings of the prompt's images computed. */
  async #look(images: readonly PromptImage[]): Promise<void> {
    const { cacheSalt = '', client = '' } = this.#request;
    const { vision, engine } = this.#options;
    if (!vision || engine.info.embeddingWidth === null) {
      throw new InvalidRequestError('This model takes no images as it is loaded here.');
    }
    this.#seen = await vision.embed(images, cacheSalt, { client, signal: this.#signal });
    if (this.#isOver) this.#seen.release();
  }

  /** The same of speech. */
  async #hear(speech: PromptSpeech | undefined): Promise<void> {
    const { cacheSalt = '', client = '' } = this.#request;
    const { hearing } = this.#options;
    if (!hearing) throw new InvalidRequestError('This model takes no speech.');
    if (!speech) throw new InvalidRequestError(HEARS_ALONE);
    this.#seen = await hearing.embed(speech, cacheSalt, { client, signal: this.#signal });
    if (this.#isOver) this.#seen.release();
  }

  /** Frees everything; does so once. */
  async #end(outcome: GenerationOutcome): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#signal.removeEventListener('abort', this.#abort);
    try {
      await this.#batches?.return?.();
    } finally {
      this.#release?.();
      this.#seen?.release();
      this.#observer?.finished(outcome, performance.now(), this.#detokenizeMs);
    }
  }

  /** Whoever reads slowly, or never began, holds its place no longer. */
  readonly #abort = (): void => {
    this.#wasAborted = !this.#isOver;
    this.#end(outcomeOfAbort(this.#signal)).catch(() => {});
  };
}
