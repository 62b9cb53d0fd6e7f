/** Whisper's way through a recording of any length: window after window, each from where the last text ended. */
import type { Samples } from '../../audio/decode.ts';
import { HOP, type WindowSize } from '../../audio/log-mel.ts';
import type { Recording } from '../audio/recording.ts';
import type { Caller } from '../caller.ts';
import type { SpeechModel } from './speech-model.ts';
import { attemptWindow, isSilent } from './window-attempts.ts';
import { splitWindow } from './window-segments.ts';
import { splitWords } from './words.ts';

/** Loudest sample of what is not even listened to: the last bit of 16. */
const SILENCE = 1;
const FRAMES_PER_SECOND = 100;
/** A text that took more chance than this is no context for the next one. */
const MAX_CONTEXT_TEMPERATURE = 0.5;

export interface TranscribeOptions {
  readonly task: 'transcribe' | 'translate';
  /** Code that the model knows; null to find out. */
  readonly language: string | null;
  /** Text that may have come before; empty for none. */
  readonly prompt: string;
  /** 0 raises it where a text is bad. */
  readonly temperature: number;
  /** Whether times of words are wanted; only of a model that `aligns`. */
  readonly withWords: boolean;
}

/** A word, and its seconds. */
export interface Word {
  readonly word: string;
  readonly start: number;
  readonly end: number;
}

/** Text of some seconds. Names are those of verbose_json. */
export interface Segment {
  readonly id: number;
  /** Frame of 10 ms at which the window began. */
  readonly seek: number;
  /** Seconds. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly tokens: readonly number[];
  readonly temperature: number;
  readonly avg_logprob: number;
  readonly compression_ratio: number;
  readonly no_speech_prob: number;
}

export type TranscriptEvent =
  /** Comes once, before the first segment; never for a recording of silence. */
  | { readonly type: 'language'; readonly language: string }
  | {
      readonly type: 'segment';
      readonly segment: Segment;
      /** None where they are not wanted. */
      readonly words: readonly Word[];
    };

/** Features that a model hears of samples. */
export type Hear = (
  samples: Samples,
  size: WindowSize,
  caller: Caller,
) => Promise<Float32Array<ArrayBuffer>>;

/** @throws as the model and `hear` do; the caller's signal ends it */
export async function* transcribe(
  recording: Recording,
  model: SpeechModel,
  hear: Hear,
  options: TranscribeOptions,
  caller: Caller,
): AsyncGenerator<TranscriptEvent, void> {
  const frames = Math.ceil(recording.length / HOP);
  const prompt = options.prompt.trim();
  const context = prompt === '' ? [] : [...model.encode(` ${prompt}`)];
  let language = model.tokens.languages.size === 0 ? 'en' : options.language;
  if (language !== null) yield { type: 'language', language };
  let id = 0;
  for (let seek = 0; seek < frames;) {
    caller.signal.throwIfAborted();
    const size = Math.min(model.size.frames, frames - seek);
    const samples = recording.slice(seek * HOP, model.size.frames * HOP);
    if (!hasSound(samples)) {
      seek += size;
      continue;
    }
    const features = await hear(samples, model.size, caller);
    if (language === null) {
      language = likeliest(await model.languageLogits(features, caller));
      yield { type: 'language', language };
    }
    const tokens = promptOf(model, context, language, options.task);
    const attempt = await attemptWindow(model, features, tokens, options.temperature, caller);
    if (isSilent(attempt)) {
      seek += size;
      continue;
    }
    const { segments, advance } = splitWindow(attempt.tokens, model.tokens.firstTimestamp, size);
    const isTimed = options.withWords && attempt.tokens.length > 0;
    const times = isTimed
      ? await model.tokenTimes(features, tokens, attempt.tokens, size, caller)
      : [];
    let next = 0;
    for (const { start, end, tokens: ids } of segments) {
      const first = next;
      next += ids.length;
      const text = model.decode(ids.filter((token) => token < model.tokens.endOfText));
      if (start === end || text.trim() === '') continue;
      const offset = seek / FRAMES_PER_SECOND;
      const segment = {
        id: id++,
        seek,
        start: rounded(offset + start),
        end: rounded(offset + end),
        text,
        tokens: ids,
        temperature: attempt.temperature,
        avg_logprob: attempt.avgLogprob,
        compression_ratio: attempt.compressionRatio,
        no_speech_prob: attempt.noSpeechProb,
      };
      context.push(...ids);
      const words = isTimed ? wordsOf(model, ids, language, { times, first, offset }) : [];
      yield { type: 'segment', segment, words };
    }
    if (attempt.temperature > MAX_CONTEXT_TEMPERATURE) context.length = 0;
    // A model that says it heard nothing yet would be asked the same for ever.
    seek += advance > 0 ? advance : size;
  }
}

/** Times of a window's tokens, and where in it those of a segment begin. */
interface Timed {
  readonly times: readonly number[];
  readonly first: number;
  /** Seconds at which the window began. */
  readonly offset: number;
}

/** A token begins where the one before it ends. */
function wordsOf(
  model: SpeechModel,
  tokens: readonly number[],
  language: string,
  { times, first, offset }: Timed,
): readonly Word[] {
  const { endOfText } = model.tokens;
  const spoken = tokens.flatMap((token, at) => (token < endOfText ? [{ token, at }] : []));
  const ids = spoken.map(({ token }) => token);
  const timeOf = (at: number) => rounded(offset + (times[first + at] ?? 0));
  return splitWords(ids, language, (some) => model.decode(some)).flatMap((word) => {
    const [start = 0, end = 0] = [spoken[word.start]?.at, spoken[word.end - 1]?.at];
    const text = word.text.trim();
    return text === '' ? [] : [{ word: text, start: timeOf(start - 1), end: timeOf(end) }];
  });
}

/** The end of what came before, and what is asked for. */
function promptOf(
  { tokens, contextTokens }: SpeechModel,
  context: readonly number[],
  language: string,
  task: TranscribeOptions['task'],
): readonly number[] {
  const kept = context.slice(-(contextTokens / 2 - 1));
  const before = kept.length === 0 ? [] : [tokens.startOfPrevious, ...kept];
  const asked = [tokens.languages.get(language), tokens[task]];
  const known = asked.filter((token) => typeof token === 'number');
  return [...before, tokens.startOfTranscript, ...known];
}

function hasSound(samples: Samples): boolean {
  return samples.some((sample) => Math.abs(sample) > SILENCE);
}

function likeliest(logits: ReadonlyMap<string, number>): string {
  const [first] = [...logits].toSorted(([, a], [, b]) => b - a);
  return first?.[0] ?? 'en';
}

/** Sums of hundredths have digits behind them. */
function rounded(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}
