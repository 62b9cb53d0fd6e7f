/** Which kind of file it is, by its content: what a client names it proves nothing. */
import { AudioError } from './audio-error.ts';

export type AudioFormat = 'wav' | 'flac' | 'mp3' | 'ogg';

/** Heads of the kinds that are read. */
const READ: readonly (readonly [AudioFormat, RegExp])[] = [
  ['wav', /^(?:RIFF|RF64|BW64)[^]{4}WAVE/],
  ['flac', /^fLaC/],
  ['ogg', /^OggS/],
  // MPEG 1, 2 or 2.5, layers I to III; layer 0 is AAC.
  ['mp3', /^\xff[\xe2-\xe7\xf2-\xf7\xfa-\xff]/],
];

/** Heads of kinds that are refused by name. */
const REFUSED: readonly (readonly [string, RegExp])[] = [
  ['M4A or MP4', /^[^]{4}ftyp/],
  ['WebM or Matroska', /^.E\xdf\xa3/s],
  ['AAC', /^\xff[\xf0\xf1\xf8\xf9]|^ADIF/],
  ['AIFF', /^FORM[^]{4}AIF/],
  ['AMR', /^#!AMR/],
  ['CAF', /^caff/],
  ['WMA', /^\x30\x26\xb2\x75/],
  ['AU', /^\.snd/],
  ['MIDI', /^MThd/],
  ['WavPack', /^wvpk/],
  ["Monkey's Audio", /^MAC /],
];

const HEAD_BYTES = 12;
/** Tags of several programs may follow each other. */
const MAX_TAGS = 8;

export interface FoundAudio {
  readonly format: AudioFormat;
  /** The file without tags before it. */
  readonly body: Uint8Array;
}

/** @throws AudioError naming what it is, or what would be taken */
export function findAudio(file: Uint8Array): FoundAudio {
  const body = withoutTags(file);
  const head = Buffer.from(body.subarray(0, HEAD_BYTES)).toString('latin1');
  const format = READ.find(([, pattern]) => pattern.test(head))?.[0];
  if (format !== undefined) return { format, body };
  const other = REFUSED.find(([, pattern]) => pattern.test(head))?.[0];
  const what = other === undefined ? 'it is no file of sound' : `${other} is not supported`;
  throw new AudioError(`${what}; expected WAV, FLAC, MP3 or Ogg (Vorbis, Opus or FLAC)`);
}

/** ID3 version 2: its size has 7 bits in each byte. */
function withoutTags(file: Uint8Array): Uint8Array {
  let body = file;
  for (let tags = 0; isTag(body); tags++) {
    if (tags === MAX_TAGS) throw new AudioError(`it has more than ${MAX_TAGS} ID3 tags`);
    const size = body.subarray(6, 10).reduce((sum, byte) => sum * 128 + (byte & 127), 0);
    const footer = ((body[5] ?? 0) & 16) === 0 ? 0 : 10;
    if (10 + size + footer >= body.length) throw new AudioError('it ends within its ID3 tag');
    body = body.subarray(10 + size + footer);
  }
  return body;
}

function isTag(body: Uint8Array): boolean {
  return body.length >= 10 && body[0] === 0x49 && body[1] === 0x44 && body[2] === 0x33;
}
