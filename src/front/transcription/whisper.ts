/** Whisper, as one request has it: prompts, rules and texts over what writes tokens. */
import type { WindowSize } from '../../audio/log-mel.ts';
import type { SpeechRule } from '../../engine/request.ts';
import type { Caller } from '../caller.ts';
import type { TextTokenizer } from '../text/tokenizer.ts';
import type { SpeechModel, SpeechTokens, WindowEvent, WindowOptions } from './speech-model.ts';
import type { SpeechVocabulary } from './speech-vocabulary.ts';
import type { SpeechWindow, Transcriber } from './transcriber.ts';

export interface WhisperOptions {
  /** Name that answers have. */
  readonly id: string;
  readonly transcriber: Transcriber;
  readonly vocabulary: SpeechVocabulary;
  readonly tokenizer: Pick<TextTokenizer, 'encode' | 'decode'>;
  /** Shared by those who may find each other's embeddings. */
  readonly salt: string;
}

/** Frames of a position, and its seconds. */
const FRAMES = 2;
const SECONDS = 0.02;

/** A window, and what is known of it: attempts have these in common. */
interface KnownWindow {
  readonly window: SpeechWindow;
  /** From 0 to 1; known after the first attempt. */
  noSpeechProb?: number;
}

export class Whisper implements SpeechModel {
  readonly #options: WhisperOptions;
  /** By their features, which are the same array for each attempt. */
  readonly #windows = new WeakMap<Float32Array, KnownWindow>();

  constructor(options: WhisperOptions) {
    this.#options = options;
  }

  get id(): string {
    return this.#options.id;
  }

  get size(): WindowSize {
    const { numMels, numFrames } = this.#options.transcriber.format;
    return { mels: numMels, frames: numFrames };
  }

  get tokens(): SpeechTokens {
    return this.#options.vocabulary.tokens;
  }

  get contextTokens(): number {
    return this.#options.transcriber.maxTextTokens;
  }

  get aligns(): boolean {
    return this.#options.transcriber.aligns;
  }

  encode(text: string): readonly number[] {
    const ids = this.#options.tokenizer.encode(text, { addSpecialTokens: false });
    // A text may spell special tokens, which would ask for something else.
    return [...ids].filter((id) => id < this.tokens.endOfText);
  }

  decode(tokens: readonly number[]): string {
    const words = tokens.filter((id) => id < this.tokens.endOfText);
    return this.#options.tokenizer.decode(words, { skipSpecialTokens: true });
  }

  async languageLogits(
    features: Float32Array<ArrayBuffer>,
    { signal }: Caller,
  ): Promise<ReadonlyMap<string, number>> {
    const { transcriber } = this.#options;
    const { window } = await this.#hear(features);
    const codes = [...this.tokens.languages.keys()];
    const ids = Int32Array.from(this.tokens.languages.values());
    const logits = await transcriber.logitsAfter(window, this.#start, ids, signal);
    return new Map(codes.map((code, index) => [code, logits[index] ?? -Infinity]));
  }

  async *transcribeWindow(
    features: Float32Array<ArrayBuffer>,
    prompt: readonly number[],
    { temperature, maxTokens }: WindowOptions,
    { signal }: Caller,
  ): AsyncGenerator<WindowEvent, void> {
    const { transcriber } = this.#options;
    const known = await this.#hear(features);
    known.noSpeechProb ??= await this.#noSpeechProb(known.window, signal);
    yield { type: 'began', noSpeechProb: known.noSpeechProb };
    const ids = Int32Array.from(prompt);
    const options = { temperature, maxTokens, rule: this.#rule };
    for await (const piece of transcriber.write(known.window, ids, options, signal)) {
      for (const [index, id] of piece.tokenIds.entries()) {
        yield { type: 'token', id, logprob: piece.logprobs[index] ?? 0 };
      }
    }
  }

  async tokenTimes(
    features: Float32Array<ArrayBuffer>,
    prompt: readonly number[],
    tokens: readonly number[],
    frames: number,
    { client, signal }: Caller,
  ): Promise<readonly number[]> {
    const { transcriber, salt } = this.#options;
    const { window } = await this.#hear(features);
    const text = { window, prompt, tokens, positions: Math.floor(frames / FRAMES) };
    const positions = await transcriber.align(text, salt, { client, signal });
    return Array.from(positions, (position) => position * SECONDS);
  }

  async #hear(features: Float32Array<ArrayBuffer>): Promise<KnownWindow> {
    const known = this.#windows.get(features);
    if (known !== undefined) return known;
    const heard = { window: await this.#options.transcriber.hear(features) };
    this.#windows.set(features, heard);
    return heard;
  }

  async #noSpeechProb(window: SpeechWindow, signal: AbortSignal): Promise<number> {
    const { transcriber, vocabulary } = this.#options;
    if (vocabulary.noSpeech === null) return 0;
    const { noSpeech } = vocabulary;
    return Math.exp(await transcriber.logprobAfter(window, this.#start, noSpeech, signal));
  }

  get #start(): Int32Array {
    return Int32Array.of(this.tokens.startOfTranscript);
  }

  get #rule(): SpeechRule {
    const { suppressed, suppressedFirst, maxInitialTimestamp } = this.#options.vocabulary;
    const { firstTimestamp: first, noTimestamps: none, endOfText: end } = this.tokens;
    const timestamps = { first, none, end, maxInitial: maxInitialTimestamp };
    return { suppressed, suppressedFirst, timestamps };
  }
}
