/** From a file to samples as Whisper takes them. */
import { AUDIO_LIMITS } from '../audio-limits.ts';
import { AudioError } from './audio-error.ts';
import { blocksOf } from './decoders.ts';
import { tooLong } from './flac-head.ts';
import { findAudio } from './format.ts';
import { tooManyChannels } from './ogg-codec.ts';
import { Resampler } from './resample.ts';
import type { SoundBlock } from './sound-block.ts';

/** Samples per second of what is decoded. */
export const SAMPLE_RATE = 16_000;

/** Samples that are handed on together: 32 s, a megabyte. */
const PIECE_SAMPLES = 2 ** 19;

/** 16 bits each, which is what OpenAI has ffmpeg make of a file. */
export type Samples = Int16Array<ArrayBuffer>;

/**
 * Mixes all channels into one of 16,000 samples per second.
 * @returns some pieces, one after the other, with a sample at least
 * @throws AudioError for what is no sound, or is beyond a limit
 */
export async function* decodeAudio(file: Uint8Array): AsyncGenerator<Samples, void> {
  const gathered = new Gathered();
  for await (const samples of resampled(file)) yield* gathered.add(samples);
  const rest = gathered.rest();
  if (gathered.total === 0) throw new AudioError('it has no sound that can be decoded');
  if (rest.length > 0) yield rest;
}

async function* resampled(file: Uint8Array): AsyncGenerator<Float32Array, void> {
  let resampler: Resampler | null = null;
  let rate = 0;
  for await (const { channels, sampleRate } of boundedBlocks(file)) {
    if (sampleRate !== rate) {
      // Frames of MP3 may change it.
      if (resampler !== null) yield resampler.end();
      resampler = sampleRate === SAMPLE_RATE ? null : new Resampler(sampleRate, SAMPLE_RATE);
      rate = sampleRate;
    }
    const mono = mixed(channels);
    yield resampler === null ? mono : resampler.push(mono);
  }
  if (resampler !== null) yield resampler.end();
}

/** Blocks with sound, as long as they are within the limits. */
async function* boundedBlocks(file: Uint8Array): AsyncGenerator<SoundBlock, void> {
  const { format, body } = findAudio(file);
  let seconds = 0;
  let faults = 0;
  for await (const block of blocksThatFail(blocksOf(format, body))) {
    faults += block.faults;
    if (faults > AUDIO_LIMITS.audioFaults) throw new AudioError('it is damaged in too many places');
    const { channels, sampleRate } = block;
    const [first] = channels;
    if (first === undefined || first.length === 0) continue;
    checkBlock(block);
    seconds += first.length / sampleRate;
    if (seconds > AUDIO_LIMITS.audioSeconds) throw tooLong();
    yield block;
  }
}

function checkBlock({ channels, sampleRate }: SoundBlock): void {
  if (channels.length > AUDIO_LIMITS.audioChannels) throw tooManyChannels(channels.length);
  const { min, max } = AUDIO_LIMITS.audioSampleRates;
  if (sampleRate < min || sampleRate > max) {
    throw new AudioError(`it has ${sampleRate} samples per second; expected ${min} to ${max}`);
  }
}

/** Faults that a library throws over a file tell of the file. */
async function* blocksThatFail(
  blocks: AsyncGenerator<SoundBlock, void>,
): AsyncGenerator<SoundBlock, void> {
  try {
    yield* blocks;
  } catch (error) {
    if (error instanceof AudioError) throw error;
    throw new AudioError('its decoder fails over it', { cause: error });
  }
}

function mixed(channels: readonly Float32Array[]): Float32Array {
  const [first = new Float32Array(), ...others] = channels;
  if (others.length === 0) return first;
  const mono = Float32Array.from(first);
  for (const other of others) {
    for (let index = 0; index < mono.length; index++) mono[index]! += other[index] ?? 0;
  }
  for (let index = 0; index < mono.length; index++) mono[index]! /= channels.length;
  return mono;
}

/** Samples as whole numbers, in pieces. */
class Gathered {
  #piece: Samples = new Int16Array(PIECE_SAMPLES);
  #filled = 0;
  total = 0;

  *add(samples: Float32Array): Generator<Samples, void> {
    for (const sample of samples) {
      // NaN, which files of floats may have, is silence.
      this.#piece[this.#filled++] = Math.max(
        -32_768,
        Math.min(32_767, Math.round(sample * 32_768)),
      );
      if (this.#filled < PIECE_SAMPLES) continue;
      yield this.#piece;
      this.#piece = new Int16Array(PIECE_SAMPLES);
      this.#filled = 0;
    }
    this.total += samples.length;
  }

  rest(): Samples {
    return this.#piece.slice(0, this.#filled);
  }
}
