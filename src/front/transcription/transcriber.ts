/**
 * Writes what a model hears: windows of log-mel features become tokens, in the continuous batch. What prompts and
 * rules say, how audio becomes features, and how tokens become a text with times, is the caller's.
 */
import { createHash } from 'node:crypto';
import type { SamplingParams, SpeechRule } from '../../engine/request.ts';
import type { GenerationRequest, Generator } from '../generation/generation.ts';
import { GREEDY } from '../generation/greedy-sampling.ts';
import type { PromptSpeech } from '../generation/prompt-speech.ts';
import { addInTurns } from '../images/file-hash.ts';
import { embeddingIds } from '../prompts/place-images.ts';
import type { EmbedFor } from '../generation/prompt-image.ts';
import type { AlignedText, SpeechAligner } from './speech-aligner.ts';
import type { SpeechFormat } from './speech-encoder.ts';

/** A window of speech, for one or several generations. */
export interface SpeechWindow extends PromptSpeech {
  /** Ids of its positions, below 0. */
  readonly ids: Int32Array;
}

/** The asker, and how the request takes its place; as in GenerationRequest. */
export type SpeechCaller = Pick<
  GenerationRequest,
  'client' | 'cacheSalt' | 'priority' | 'serviceTier' | 'serviceClass' | 'timeoutMs' | 'record'
>;

export interface WriteOptions {
  /** Most tokens; fewer where the model's positions end. */
  readonly maxTokens: number;
  /** 0, as if left out, is greedy. */
  readonly temperature?: number;
  /** Seed for temperatures above 0; 0 if left out. */
  readonly seed?: bigint;
  /** Tokens that the text has no place for; left out for none. */
  readonly rule?: SpeechRule;
  readonly caller?: SpeechCaller;
}

/** Tokens of a growing text. */
export interface SpokenTokens {
  readonly tokenIds: readonly number[];
  /** One for each token: after the rule has left tokens out, before the temperature changes them; 0 or less. */
  readonly logprobs: readonly number[];
  /** Set on the last piece: the end of the text, whose token comes with it, or the most tokens. */
  readonly finishReason: 'stop' | 'length' | null;
}

export interface TranscriberOptions {
  /** The model's, with its SpeechEncoder. */
  readonly generator: Generator;
  readonly format: SpeechFormat;
  /** Positions of prompt and text together, without the window's. */
  readonly maxTextTokens: number;
  /** Null for a model that does not tell when words were said. */
  readonly aligner: SpeechAligner | null;
}

export class Transcriber {
  readonly #options: TranscriberOptions;

  constructor(options: TranscriberOptions) {
    this.#options = options;
  }

  /** The same model by way of another generator, such as one that knows who asks. */
  by(generator: Generator): Transcriber {
    return new Transcriber({ ...this.#options, generator });
  }

  get format(): SpeechFormat {
    return this.#options.format;
  }

  /** Whether it tells when words were said. */
  get aligns(): boolean {
    return this.#options.aligner !== null;
  }

  /** As SpeechAligner.align. */
  async align(text: AlignedText, salt: string, caller: EmbedFor): Promise<Int32Array> {
    const { aligner } = this.#options;
    if (aligner === null) throw new Error('the model does not tell when words were said');
    return await aligner.align(text, salt, caller);
  }

  /** Tokens of a prompt and its text together. */
  get maxTextTokens(): number {
    return this.#options.maxTextTokens;
  }

  /**
   * Takes a window's features in, for any number of generations: its embeddings are computed with the first and
   * found by their hash afterwards, and so are its keys and values while they are in the prefix cache.
   * @param features [mels, frames], row by row
   * @throws RangeError when there are more or fewer of them
   */
  async hear(features: Float32Array<ArrayBuffer>): Promise<SpeechWindow> {
    const { numMels, numFrames, numPositions } = this.format;
    if (features.length !== numMels * numFrames) {
      throw new RangeError(
        `a window has ${numMels} x ${numFrames} features, and not ${features.length}`,
      );
    }
    const hash = createHash('sha256');
    await addInTurns(hash, bytesOf(features));
    const digest = hash.digest('base64url');
    return { features, hash: digest, ids: embeddingIds(digest, numPositions) };
  }

  /**
   * Writes the text of a window. Leaving the iteration early, or aborting, frees everything.
   * @param promptTokenIds such as those of `<|startoftranscript|><|en|><|transcribe|>`; at least one
   * @throws RangeError when the prompt leaves no room for a token; QueueFullError before anything is
   *   queued; EngineError; the signal's reason on abort
   */
  async *write(
    window: SpeechWindow,
    promptTokenIds: Int32Array,
    { maxTokens, temperature = 0, seed = 0n, rule, caller = {} }: WriteOptions,
    signal: AbortSignal,
  ): AsyncGenerator<SpokenTokens, void> {
    const room = this.#roomAfter(promptTokenIds);
    const request = this.#request(window, promptTokenIds, caller, {
      maxTokens: Math.min(maxTokens, room),
      sampling: { ...GREEDY, temperature, seed },
      ...(rule && { speechRule: rule }),
    });
    for await (const delta of this.#options.generator.generate(request, signal)) {
      const { tokenIds, logprobs = [], finishReason } = delta;
      yield { tokenIds, logprobs: logprobs.map(({ logprob }) => logprob), finishReason };
    }
  }

  /**
   * Logits of some tokens after a prompt: softmaxed, which of these languages it is, for instance.
   * @returns one for each of `tokenIds`
   * @throws as write
   */
  async logitsAfter(
    window: SpeechWindow,
    promptTokenIds: Int32Array,
    tokenIds: Int32Array,
    signal: AbortSignal,
    caller: SpeechCaller = {},
  ): Promise<Float32Array> {
    this.#roomAfter(promptTokenIds);
    const request = this.#request(window, promptTokenIds, caller, {
      maxTokens: 0,
      readout: { kind: 'logits', tokenIds },
    });
    for await (const { values } of this.#options.generator.generate(request, signal)) {
      if (values) return values;
    }
    throw new Error('the engine read no logits');
  }

  /**
   * How likely a token is after a prompt, among all: that nobody speaks, for instance.
   * @returns the logarithm, 0 or less
   * @throws as write
   */
  async logprobAfter(
    window: SpeechWindow,
    promptTokenIds: Int32Array,
    tokenId: number,
    signal: AbortSignal,
    caller: SpeechCaller = {},
  ): Promise<number> {
    this.#roomAfter(promptTokenIds);
    const request = this.#request(window, promptTokenIds, caller, {
      maxTokens: 1,
      sampling: { ...GREEDY, allowedTokenIds: Int32Array.of(tokenId) },
    });
    for await (const { logprobs } of this.#options.generator.generate(request, signal)) {
      const [first] = logprobs ?? [];
      if (first) return first.logprob;
    }
    throw new Error('the engine drew no token');
  }

  #roomAfter({ length }: Int32Array): number {
    const { maxTextTokens } = this.#options;
    if (length > 0 && length < maxTextTokens) return maxTextTokens - length;
    throw new RangeError(`a prompt has 1 to ${maxTextTokens - 1} tokens, and not ${length}`);
  }

  #request(
    window: SpeechWindow,
    promptTokenIds: Int32Array,
    caller: SpeechCaller,
    wanted: Pick<GenerationRequest, 'maxTokens' | 'speechRule' | 'readout'> & {
      readonly sampling?: SamplingParams;
    },
  ): GenerationRequest {
    return {
      promptTokenIds: Int32Array.of(...window.ids, ...promptTokenIds),
      speech: window,
      minTokens: 0,
      stop: [],
      includeStopStrInOutput: false,
      stopTokenIds: [],
      ignoreEos: false,
      skipSpecialTokens: true,
      badWords: [],
      logprobs: wanted.readout === undefined ? 0 : null,
      promptLogprobs: null,
      sampling: GREEDY,
      ...caller,
      ...wanted,
    };
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
