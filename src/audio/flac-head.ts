import { AUDIO_LIMITS } from '../audio-limits.ts';
import { AudioError } from './audio-error.ts';

const LAST = 128;
const HEAD_BYTES = 4;
const STREAM_INFO_BYTES = 34;

/**
 * The frames of a FLAC file: its pictures and tags may have megabytes, in which bytes may look like frames.
 * @param file that begins with `fLaC`
 * @throws AudioError for what ends before, or says that it is longer than sound may be
 */
export function flacFrames(file: Uint8Array): Uint8Array {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  let at = 4;
  while (at + HEAD_BYTES < view.byteLength) {
    const head = view.getUint8(at);
    const size = view.getUint32(at) & 0xff_ffff;
    const start = at + HEAD_BYTES;
    if (at === 4) checkLength(view, start, size);
    at = start + size;
    if (head >= LAST) return file.subarray(at);
  }
  throw new AudioError('it ends within its metadata');
}

function checkLength(view: DataView, start: number, size: number): void {
  if (size < STREAM_INFO_BYTES || start + STREAM_INFO_BYTES > view.byteLength) {
    throw new AudioError('it does not begin with what a FLAC file begins with');
  }
  const packed = view.getBigUint64(start + 10);
  const sampleRate = Number(packed >> 44n);
  const samples = Number(packed & 0xf_ffff_ffffn);
  if (sampleRate > 0 && samples / sampleRate > AUDIO_LIMITS.audioSeconds) throw tooLong();
}

export function tooLong(): AudioError {
  return new AudioError(`it is longer than the limit of ${AUDIO_LIMITS.audioSeconds} s`);
}
