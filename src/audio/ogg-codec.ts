import { AUDIO_LIMITS } from '../audio-limits.ts';
import { AudioError } from './audio-error.ts';

/** Heads of the first packets, and where they say how many channels there are. */
const CODECS = [
  ['opus', 'OpusHead', 9],
  ['vorbis', '\x01vorbis', 11],
  ['flac', '\x7fFLAC', -1],
] as const;

/** Pages that are looked at: streams of other kinds may begin before that of the sound. */
const MAX_PAGES = 8;
const HEAD_BYTES = 27;

/**
 * Codec of the first sound in an Ogg file.
 * @throws AudioError for one of other codecs, or with more channels than are taken
 */
export function oggCodec(file: Uint8Array): (typeof CODECS)[number][0] {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  let at = 0;
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    if (bytes.toString('latin1', at, at + 4) !== 'OggS') break;
    const segments = bytes[at + 26] ?? 0;
    const start = at + HEAD_BYTES + segments;
    for (const [codec, head, channelsAt] of CODECS) {
      if (bytes.toString('latin1', start, start + head.length) !== head) continue;
      const channels = channelsAt === -1 ? 1 : (bytes[start + channelsAt] ?? 0);
      if (channels === 0 || channels > AUDIO_LIMITS.audioChannels) throw tooManyChannels(channels);
      return codec;
    }
    at = start + bytes.subarray(at + HEAD_BYTES, start).reduce((sum, size) => sum + size, 0);
  }
  throw new AudioError('this Ogg file has no Vorbis, Opus or FLAC at its beginning');
}

/** @param found may be 0 */
export function tooManyChannels(found: number): AudioError {
  return new AudioError(`it has ${found} channels, and the limit is ${AUDIO_LIMITS.audioChannels}`);
}
