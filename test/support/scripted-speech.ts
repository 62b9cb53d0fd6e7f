/** A model that hears what a test has it hear: a token for each character, and times of 20 ms. */
import type {
  SpeechModel,
  WindowEvent,
  WindowOptions,
} from '../../src/front/transcription/speech-model.ts';

const END = 300;
const FIRST_TIMESTAMP = 400;

/** Texts, and times in seconds. */
export type Said = readonly (string | number)[];

export interface ScriptedWindow {
  readonly said: Said;
  /** Log-probability of each token. */
  readonly logprob?: number;
  readonly noSpeechProb?: number;
  /** Texts of attempts at a higher temperature; the same if left out. */
  readonly retry?: ScriptedWindow;
}

export interface HeardWindow extends WindowOptions {
  readonly prompt: readonly number[];
  /** First number of its features. */
  readonly first: number;
}

export const SPEECH_TOKENS = {
  endOfText: END,
  startOfTranscript: 301,
  transcribe: 302,
  translate: 303,
  startOfPrevious: 304,
  noTimestamps: FIRST_TIMESTAMP - 1,
  firstTimestamp: FIRST_TIMESTAMP,
  languages: new Map([
    ['en', 310],
    ['de', 311],
  ]),
};

export class ScriptedSpeech implements SpeechModel {
  readonly id = 'scripted';
  readonly size = { mels: 80, frames: 3000 };
  tokens: SpeechModel['tokens'] = SPEECH_TOKENS;
  readonly contextTokens = 448;
  aligns: boolean = true;
  /** All attempts, in their order. */
  readonly heard: HeardWindow[] = [];
  readonly #windows: readonly ScriptedWindow[];
  #next = 0;

  constructor(windows: readonly ScriptedWindow[]) {
    this.#windows = windows;
  }

  encode(text: string): readonly number[] {
    return Array.from(text, (character) => character.charCodeAt(0));
  }

  decode(tokens: readonly number[]): string {
    return String.fromCharCode(...tokens.filter((token) => token < END));
  }

  async languageLogits(): Promise<ReadonlyMap<string, number>> {
    return new Map([
      ['en', -2],
      ['de', 3],
    ]);
  }

  async *transcribeWindow(
    features: Float32Array,
    prompt: readonly number[],
    options: WindowOptions,
  ): AsyncGenerator<WindowEvent, void> {
    this.heard.push({ ...options, prompt, first: features[0] ?? 0 });
    if (options.temperature === 0 || this.heard.length === 1) this.#next++;
    const window = this.#windows[this.#next - 1] ?? { said: [] };
    const {
      said,
      logprob = -0.1,
      noSpeechProb = 0,
    } = options.temperature > 0 ? (window.retry ?? window) : window;
    yield { type: 'began', noSpeechProb };
    for (const part of said) {
      const ids =
        typeof part === 'string' ? this.encode(part) : [FIRST_TIMESTAMP + Math.round(part * 50)];
      for (const id of ids) yield { type: 'token', id, logprob };
    }
    yield { type: 'token', id: END, logprob };
  }

  /** A tenth of a second each. */
  async tokenTimes(
    _features: Float32Array,
    _prompt: readonly number[],
    tokens: readonly number[],
  ): Promise<readonly number[]> {
    return tokens.map((_, at) => (at + 1) / 10);
  }
}
