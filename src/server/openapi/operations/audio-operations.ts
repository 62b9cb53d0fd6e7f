import { documentedBodies as bodies } from '../documented-bodies.ts';
import type { Operation } from '../operation.ts';

const tag = 'Audio';
const takes =
  'A form with `file`, as WAV, FLAC, MP3, Ogg Vorbis or Opus, for a model that hears. `srt`, `vtt` and `text` are answered as texts.';

/** Recordings to texts. */
export const AUDIO_OPERATIONS: readonly Operation[] = [
  {
    method: 'post',
    path: '/v1/audio/transcriptions',
    tag,
    summary: 'Write what is said',
    notes: takes,
    form: bodies.audio,
    streams: true,
  },
  {
    method: 'post',
    path: '/v1/audio/translations',
    tag,
    summary: 'Write in English what is said',
    notes: takes,
    form: bodies.audio,
    streams: true,
  },
];
