/** Reads WAV files: PCM, floating point, A-law and mu-law. */
import { AUDIO_LIMITS } from '../audio-limits.ts';
import { AudioError } from './audio-error.ts';
import { ALAW, MULAW } from './companding.ts';
import { tooManyChannels } from './ogg-codec.ts';
import type { SoundBlock } from './sound-block.ts';

const BLOCK_FRAMES = 2 ** 14;
const EXTENSIBLE = 0xfffe;

type Read = (view: DataView, at: number) => number;

/** By the code of the format and the bits of a sample. */
const READERS: ReadonlyMap<string, Read> = new Map<string, Read>([
  ['1/8', (view, at) => (view.getUint8(at) - 128) / 2 ** 7],
  ['1/16', (view, at) => view.getInt16(at, true) / 2 ** 15],
  ['1/24', (view, at) => ((view.getInt8(at + 2) << 16) | view.getUint16(at, true)) / 2 ** 23],
  ['1/32', (view, at) => view.getInt32(at, true) / 2 ** 31],
  ['3/32', (view, at) => view.getFloat32(at, true)],
  ['3/64', (view, at) => view.getFloat64(at, true)],
  ['6/8', (view, at) => ALAW[view.getUint8(at)] ?? 0],
  ['7/8', (view, at) => MULAW[view.getUint8(at)] ?? 0],
]);

interface WavForm {
  readonly channels: number;
  readonly sampleRate: number;
  readonly sampleBytes: number;
  readonly read: Read;
}

/**
 * @param file that begins with `RIFF`, `RF64` or `BW64`
 * @throws AudioError
 */
export function* wavBlocks(file: Uint8Array): Generator<SoundBlock, void> {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  let form: WavForm | undefined;
  let at = 12;
  for (let chunks = 0; chunks < AUDIO_LIMITS.audioChunks; chunks++) {
    if (at + 8 > view.byteLength) throw new AudioError('it has no samples');
    const name = view.getUint32(at);
    const size = view.getUint32(at + 4, true);
    const start = at + 8;
    if (name === 0x666d_7420 /* fmt */) form = formOf(view, start, size);
    if (name === 0x6461_7461 /* data */) {
      if (form === undefined) throw new AudioError('its samples come before their format');
      // Programs that write into a pipe do not know the size: what is there counts.
      return yield* blocksOf(view, start, Math.min(start + size, view.byteLength), form);
    }
    at = start + size + (size % 2);
  }
  throw new AudioError(`it has more than ${AUDIO_LIMITS.audioChunks} chunks before its samples`);
}

function formOf(view: DataView, start: number, size: number): WavForm {
  if (size < 16 || start + size > view.byteLength) {
    throw new AudioError('it ends within its format');
  }
  const code = view.getUint16(start, true);
  const bits = view.getUint16(start + 14, true);
  // The first bytes of the GUID are the code.
  const isLong = code === EXTENSIBLE && size >= 40;
  const kind = isLong ? view.getUint16(start + 24, true) : code;
  const read = READERS.get(`${kind}/${bits}`);
  if (read === undefined) {
    throw new AudioError(`WAV of format ${kind} with ${bits} bits is not supported`);
  }
  const channels = view.getUint16(start + 2, true);
  if (channels === 0 || channels > AUDIO_LIMITS.audioChannels) throw tooManyChannels(channels);
  const sampleBytes = bits / 8;
  if (view.getUint16(start + 12, true) !== channels * sampleBytes) {
    throw new AudioError('the size of its frames does not fit its channels');
  }
  return { channels, sampleRate: view.getUint32(start + 4, true), sampleBytes, read };
}

function* blocksOf(
  view: DataView,
  start: number,
  end: number,
  { channels, sampleRate, sampleBytes, read }: WavForm,
): Generator<SoundBlock, void> {
  const frameBytes = channels * sampleBytes;
  const total = Math.floor((end - start) / frameBytes);
  for (let first = 0; first < total; first += BLOCK_FRAMES) {
    const frames = Math.min(BLOCK_FRAMES, total - first);
    const from = start + first * frameBytes;
    const samples = Array.from({ length: channels }, (_, channel) => {
      const out = new Float32Array(frames);
      let at = from + channel * sampleBytes;
      for (let index = 0; index < frames; index++, at += frameBytes) out[index] = read(view, at);
      return out;
    });
    yield { channels: samples, sampleRate, faults: 0 };
  }
}
