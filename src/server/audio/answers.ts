/** Answers of transcriptions and translations, as OpenAI has them. */
import { LANGUAGES } from '../../front/transcription/languages.ts';
import type { Segment, TranscriptEvent, Word } from '../../front/transcription/transcribe.ts';
import type { JsonObject } from '../json-object.ts';
import type { AudioRequest } from './fields.ts';
import { toSrt, toVtt } from './subtitles.ts';

export interface Transcript {
  readonly task: 'transcribe' | 'translate';
  /** Code. */
  readonly language: string;
  /** Seconds of the recording. */
  readonly duration: number;
  readonly segments: readonly Segment[];
  /** None where they are not wanted. */
  readonly words: readonly Word[];
}

/** Collects all of it. @param fallback code of a language, for a recording of silence */
export async function gatherTranscript(
  events: AsyncIterable<TranscriptEvent>,
  { task, duration }: Pick<Transcript, 'task' | 'duration'>,
  fallback = 'en',
): Promise<Transcript> {
  const segments: Segment[] = [];
  const words: Word[] = [];
  let language = fallback;
  for await (const event of events) {
    if (event.type === 'language') ({ language } = event);
    else {
      segments.push(event.segment);
      words.push(...event.words);
    }
  }
  return { task, language, duration, segments, words };
}

/** @returns an object for JSON; a text with its media type */
export function toAnswer(
  transcript: Transcript,
  { format, withWords, withSegments }: Pick<AudioRequest, 'format' | 'withWords' | 'withSegments'>,
): JsonObject | { readonly text: string; readonly mediaType: string } {
  const { segments, words, duration, language, task } = transcript;
  const text = joined(segments);
  const usage = { type: 'duration', seconds: Math.ceil(duration) };
  switch (format) {
    case 'json':
      return { text, usage };
    case 'verbose_json':
      return {
        task,
        language: LANGUAGES.get(language) ?? language,
        duration,
        text,
        ...(withWords && { words }),
        ...(withSegments && { segments }),
        usage,
      };
    case 'text':
      return { text: `${text}\n`, mediaType: 'text/plain; charset=utf-8' };
    case 'srt':
      return { text: toSrt(segments), mediaType: 'application/x-subrip; charset=utf-8' };
    case 'vtt':
      return { text: toVtt(segments), mediaType: 'text/vtt; charset=utf-8' };
  }
}

/** Events of a stream: a delta for each segment, and all of the text at the end, which they add up to. */
export async function* toStreamEvents(
  events: AsyncIterable<TranscriptEvent>,
): AsyncGenerator<readonly JsonObject[], void> {
  let text = '';
  // White space at the end may be the end of all.
  let held = '';
  for await (const event of events) {
    if (event.type !== 'segment') continue;
    const whole = held + event.segment.text;
    const next = text === '' ? whole.trimStart() : whole;
    const delta = next.trimEnd();
    held = next.slice(delta.length);
    if (delta === '') continue;
    text += delta;
    yield [{ type: 'transcript.text.delta', delta }];
  }
  yield [{ type: 'transcript.text.done', text }];
}

function joined(segments: readonly Segment[]): string {
  return segments
    .map(({ text }) => text)
    .join('')
    .trim();
}
