/** The seam between the transcription of a recording and the model that hears a window of it. */
import type { WindowSize } from '../../audio/log-mel.ts';
import type { Caller } from '../caller.ts';

/** Ids of a model's special tokens; its `generation_config.json` and its tokenizer have them. */
export interface SpeechTokens {
  /** `<|endoftext|>`; text has the ids below it. */
  readonly endOfText: number;
  /** `<|startoftranscript|>` */
  readonly startOfTranscript: number;
  /** `<|transcribe|>` and `<|translate|>`; null for a model of English alone. */
  readonly transcribe: number | null;
  readonly translate: number | null;
  /** `<|startofprev|>` */
  readonly startOfPrevious: number;
  /** `<|notimestamps|>` */
  readonly noTimestamps: number;
  /** `<|0.00|>`; those of later times follow, 20 ms each. */
  readonly firstTimestamp: number;
  /** By their codes, such as `en`; none for a model of English alone. */
  readonly languages: ReadonlyMap<string, number>;
}

/** How a window is to be decoded. */
export interface WindowOptions {
  /** 0 is greedy. */
  readonly temperature: number;
  /** Most tokens; what does not fit behind the prompt is left out. */
  readonly maxTokens: number;
}

export type WindowEvent =
  /** Comes first: how likely `<|nospeech|>` is right behind `<|startoftranscript|>`, 0 to 1. */
  | { readonly type: 'began'; readonly noSpeechProb: number }
  /** @typeParam logprob natural logarithm of its probability, after the rules, before the temperature */
  | { readonly type: 'token'; readonly id: number; readonly logprob: number };

/** A model that hears, such as Whisper. */
export interface SpeechModel {
  readonly id: string;
  /** Size of its features. */
  readonly size: WindowSize;
  readonly tokens: SpeechTokens;
  /** Tokens of a window, its prompt included: 448. */
  readonly contextTokens: number;

  /** Whether it tells when words were said. */
  readonly aligns: boolean;

  /** Tokens of a text, without special ones. */
  encode(text: string): readonly number[];
  /** Text of tokens; special ones are left out. */
  decode(tokens: readonly number[]): string;

  /**
   * Logits of the languages' tokens right behind `<|startoftranscript|>`, by code.
   * @param features of a window: `mels` rows of `frames` numbers
   */
  languageLogits(
    features: Float32Array<ArrayBuffer>,
    caller: Caller,
  ): Promise<ReadonlyMap<string, number>>;

  /**
   * Decodes a window, in the continuous batch: a sequence whose logits obey Whisper's rule of timestamps, and
   * leave out the tokens that the model's own configuration suppresses.
   * Ends after `<|endoftext|>`, which is a token of its own, or after `maxTokens`.
   * @param features as above; another attempt at the same window has the same array, so that what the encoder
   *   makes of it can be kept
   * @param prompt all tokens before the first one that is generated
   * @throws as a generation does; the caller's signal ends it
   */
  transcribeWindow(
    features: Float32Array<ArrayBuffer>,
    prompt: readonly number[],
    options: WindowOptions,
    caller: Caller,
  ): AsyncIterable<WindowEvent>;

  /**
   * When a window's tokens had been said; only of a model that `aligns`.
   * @param features as above
   * @param tokens all that came after the prompt, without `<|endoftext|>`
   * @param frames of the window that have sound
   * @returns for each token, seconds since the window began
   * @throws as transcribeWindow
   */
  tokenTimes(
    features: Float32Array<ArrayBuffer>,
    prompt: readonly number[],
    tokens: readonly number[],
    frames: number,
    caller: Caller,
  ): Promise<readonly number[]>;
}
